import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { listenMaster } from '../../../lib/jq/master/listen-master.js';
import { freePort } from '../../support/free-port.js';
import { eventually, until } from '../../support/until.js';
import { useRedis } from '../../support/use-redis.js';
import { Http } from '../master/http.js';
import { plainWorker, stopPlainWorkersAfterEach } from '../master/plain-worker.js';
import { killProcessesAfterEach, masterProcess, Process, urlOf } from './processes.js';

describe('jq-master among bad peers', () => {
  const used = useRedis();
  const sockets: Socket[] = [];
  const servers: Server[] = [];
  killProcessesAfterEach();
  stopPlainWorkersAfterEach();
  beforeEach(() => used.redis.flushall());
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
    for (const server of servers.splice(0)) server.close();
  });

  const start = (...args: string[]) => masterProcess(['--redis', used.url, '--port', '0', ...args]);

  /** Connections on which this is written and nothing more. */
  const stubborn = async (url: string, count: number, text: string) => {
    const { port } = new URL(url);
    const made = Array.from({ length: count }, () =>
      connect(Number(port), '127.0.0.1').on('error', () => undefined),
    );
    sockets.push(...made);
    await Promise.all(made.map((socket) => once(socket, 'connect')));
    for (const socket of made) socket.write(text);
    return made;
  };

  it('goes on, and drains, when its output has no reader any more', async () => {
    const open = await listenMaster({ connection: used.url, port: 0 });
    const worker = await new Http(open.url).register({ url: 'http://127.0.0.1:1' });
    await open.close();
    const master = start('--callback-allow', 'example.com', '--suspect', '10ms', '--lost-after', '1000');
    const http = new Http(await urlOf(master));
    await eventually(() => expect(master.errors).toContain('asks for no tokens'));
    master.leave();
    // Each push that the list refuses is complained of.
    await http.enqueue();
    await until(async () => {
      const { body } = await http.call('GET', `/api/workers/${worker}`);
      return (body as { failures: number }).failures >= 3;
    });
    await expect(master.end('SIGTERM')).resolves.toBe(0);
  });

  it('goes on where what it says is written to a full disk', async () => {
    const port = String(await freePort());
    const master = new Process('/bin/sh', [
      ...['-c', 'exec "$0" dist/cli/jq-master.js "$@" > /dev/full 2>&1', process.execPath],
      ...['--redis', used.url, '--port', port],
    ]);
    const http = new Http(`http://127.0.0.1:${port}`);
    await until(() => http.enqueue().catch(() => undefined));
    await expect(master.end('SIGTERM')).resolves.toBe(0);
  });

  it('serves others while clients send half of what they said, and while workers take pushes and say nothing', async () => {
    const master = start(
      '--request-timeout',
      '2s',
      '--push-timeout',
      '1s',
      '--suspect',
      '1h',
      '--suspect-cap',
      '1h',
    );
    const url = await urlOf(master);
    const http = new Http(url);
    const slow = await stubborn(
      url,
      100,
      'POST /job HTTP/1.1\r\nhost: x\r\ncontent-type: application/msgpack\r\ncontent-length: 4000000\r\n\r\n\x82',
    );
    const heads = await stubborn(url, 100, 'POST /job HTTP/1.1\r\nho');
    const silent = createServer(() => undefined).listen(0, '127.0.0.1');
    servers.push(silent);
    await once(silent, 'listening');
    await http.register({ url: `http://127.0.0.1:${(silent.address() as AddressInfo).port}`, max_jobs: 5 });
    const ids = await Promise.all(Array.from({ length: 5 }, () => http.enqueue()));
    const worker = await plainWorker();
    await http.register({ url: worker.url, max_jobs: 10 });
    await until(() => ids.every((id) => worker.pushes.some((push) => push.id === id)));
    const closed = [...slow, ...heads].map((socket) =>
      socket.resume().closed ? undefined : once(socket, 'close'),
    );
    await Promise.all(closed);
    await expect(master.end('SIGTERM')).resolves.toBe(0);
  });

  it('drains even if clients neither end their requests nor read their replies', async () => {
    const master = start();
    const url = await urlOf(master);
    const http = new Http(url);
    await stubborn(url, 10, 'POST /job HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n');
    await stubborn(url, 10, 'GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(50));
    await expect(http.enqueue()).resolves.toEqual(expect.any(String));
    await expect(master.end('SIGTERM')).resolves.toBe(0);
  });

  it('says whether it asks for tokens, which of them are weak, and listens to all only when that is meant', async () => {
    const closed = start('--host', '0.0.0.0');
    await expect(closed.exit()).resolves.toBe(1);
    expect(closed.errors).toMatch(/no tokens.*--allow-open/);
    const meant = start('--host', '0.0.0.0', '--allow-open');
    await urlOf(meant);
    await eventually(() =>
      expect(meant.errors).toContain('asks for no tokens: every client may do everything'),
    );
    const guarded = start('--host', '0.0.0.0', '--admin-token', 'a');
    await urlOf(guarded);
    await eventually(() => expect(guarded.errors).toContain('asks for tokens\n'));
    expect(guarded.errors).toMatch(/role "admin" is short/);
    expect(guarded.errors).not.toMatch(/everything/);
  });
});
