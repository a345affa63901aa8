/**
 * A network that takes its time: `delay-proxy.mjs TARGET_PORT MS`; answers with its own port over IPC.
 *
 * What goes to the server waits for the whole of the delay and what comes back for nothing: to a client it is
 * the same round trip, and Node's timers know no half milliseconds.
 */
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { portOf, report } from './ipc.mjs';

const [targetPort = 0, delayMs = 0] = process.argv.slice(2).map(Number);
process.once('disconnect', () => process.exit());

const server = createServer((near) => {
  const far = connect({ port: targetPort, host: '127.0.0.1', noDelay: true });
  near.setNoDelay(true);
  // Timers of one length fire in the order they were set.
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
