/**
 * A slow network: `delay-proxy.mjs TARGET_PORT MS`. Sends its own port over IPC.
 *
 * Requests get the whole delay, and replies none: the round trip is the same for a client, and Node's timers have no
 * half milliseconds.
 */
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { portOf, report } from './ipc.mjs';

const [targetPort = 0, delayMs = 0] = process.argv.slice(2).map(Number);
process.once('disconnect', () => process.exit());

const server = createServer((near) => {
  const far = connect({ port: targetPort, host: '127.0.0.1', noDelay: true });
  near.setNoDelay(true);
  // Timers of the same length fire in the order they were set.
  const later = (action) => setTimeout(action, delayMs);
  near.on('data', (bytes) => later(() => far.write(bytes)));
  near.on('close', () => later(() => far.destroy()));
  far.on('data', (bytes) => near.write(bytes));
  far.on('close', () => near.destroy());
  for (const socket of [near, far]) socket.on('error', () => undefined);
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
report(portOf(server));
