import { createServer, connect } from 'node:net';
import { once } from 'node:events';
import { portOf } from '../../harness/ipc.mjs';

const CHUNK = Buffer.alloc(64 * 1024, 'x');
const SILENT = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** CPU milliseconds of this process while a worker receives this many bytes without the end of a message. */
export async function floodWorker(bytes) {
  const { JobdDaemon, JobdWorker } = await import('../../../dist/jobd/index.js');
  const daemon = new JobdDaemon({ database: 'sqlite:unused', launcher: 'true', targets: new Map() });
  const auth = { password: 'secret' };
  const worker = new JobdWorker(daemon, { host: '127.0.0.1', port: 0, auth, name: 'bench', log: SILENT });
  return flood(
    bytes,
    () => worker.start(),
    () => worker.stop(),
  );
}

/** The same for a server that reads and drops the bytes. */
export function floodReader(bytes) {
  const server = createServer((socket) => socket.resume().on('end', () => socket.end('read')));
  const listen = async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return portOf(server);
  };
  return flood(bytes, listen, () => server.close());
}

async function flood(bytes, listen, stop) {
  const port = await listen();
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  const closed = once(socket.resume(), 'close');
  const before = process.cpuUsage();
  for (let sent = 0; sent < bytes; sent += CHUNK.length) {
    if (!socket.write(CHUNK)) await Promise.race([once(socket, 'drain'), closed]);
  }
  socket.end();
  await closed;
  const { user, system } = process.cpuUsage(before);
  await stop();
  return (user + system) / 1000;
}
