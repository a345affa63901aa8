import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { connect } from 'node:net';
import { freePort } from '../../support/free-port.js';
import { RedisServer } from '../../support/redis-server.js';
import { eventually, until } from '../../support/until.js';
import { useRedis } from '../../support/use-redis.js';
import { Http } from '../master/http.js';
import { plainWorker, stopPlainWorkersAfterEach } from '../master/plain-worker.js';
import { killProcessesAfterEach, masterProcess, python, urlOf } from './processes.js';

/** Whether nothing listens there any more. */
function isRefused(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('error', () => resolve(true));
    socket.once('connect', () => {
      socket.destroy();
      resolve(false);
    });
  });
}

describe('jq-master', () => {
  const used = useRedis();
  const onTestFinished: (() => Promise<void>)[] = [];
  killProcessesAfterEach();
  stopPlainWorkersAfterEach();
  afterEach(async () => {
    for (const finish of onTestFinished.splice(0)) await finish();
  });
  beforeEach(() => used.redis.flushall());

  it('says what is wrong with its arguments, and ends', async () => {
    const wrong: [string[], RegExp][] = [
      [['--port', 'http'], /whole number/],
      [['--port', '70000'], /`port`.*65535/],
      [['--redis', 'mysql://x'], /not a URL like 'redis/],
      [['--pusher-token', 'a,,b'], /token.*empty/],
      [['--tls-cert', '/not/there'], /tls-cert.*no such file/],
      [['--tls-cert', 'package.json'], /both --tls-cert and --tls-key/],
      [['--backoff', 'soon'], /`backoff`/],
      [['--nonsense'], /unknown option/],
    ];
    const programs = wrong.map(([args, message]) => ({ message, master: masterProcess(args) }));
    for (const { message, master } of programs) {
      await expect(master.exit()).resolves.toBe(1);
      expect(master.errors).toMatch(message);
      expect(master.lines).toEqual([]);
    }
  });

  it('says that a port is taken, and ends', async () => {
    const first = masterProcess(['--redis', used.url, '--port', '0']);
    const { port } = new URL(await urlOf(first));
    const second = masterProcess(['--redis', used.url, '--port', port]);
    await expect(second.exit()).resolves.toBe(1);
    expect(second.errors).toMatch(/EADDRINUSE/);
  });

  it('reads its flags from the environment, says where it listens, and ends when asked to', async () => {
    const master = masterProcess([], { JQ_REDIS: used.url, JQ_PORT: '0', JQ_PUSHER_TOKEN: 'secret' });
    const [line] = await master.says(1);
    expect(line).toMatch(/^listening on http:\/\/127\.0\.0\.1:\d+$/);
    const http = new Http(await urlOf(master));
    const job = { name: 'mail', argument: {} };
    await expect(http.post('/job', job)).resolves.toMatchObject({ status: 401 });
    const headers = { authorization: 'Bearer secret' };
    await expect(http.post('/job', job, { headers })).resolves.toMatchObject({ status: 201 });
    await expect(master.end('SIGTERM')).resolves.toBe(0);
    expect(master.lines).toHaveLength(1);
    expect(master.errors).toMatch(
      /^jq-master: A token of the role "pusher" is short.*\njq-master: asks for tokens\n$/,
    );
  });

  it('ends polls when it is asked to end, and does not wait for them', async () => {
    const master = masterProcess(['--redis', used.url, '--port', '0']);
    const http = new Http(await urlOf(master));
    const id = await http.enqueue();
    const polling = http.call('GET', `/job/${id}/polling?timeout=60`);
    const worker = await http.register({ names: ['other'] });
    const pulling = http.call('POST', '/worker/pull?timeout=60', { worker });
    await until(() => used.redis.exists('{jq}:pullers'));
    await until(() => used.redis.hexists(`{jq}:job:${id}`, 'awaited'));
    const code = master.end('SIGTERM');
    await expect(polling).resolves.toMatchObject({ status: 408 });
    await expect(pulling).resolves.toMatchObject({ status: 204 });
    await expect(code).resolves.toBe(0);
  });

  it('ends at once on a second signal, also while a request is still coming in', async () => {
    const master = masterProcess(['--redis', used.url, '--port', '0']);
    const { port } = new URL(await urlOf(master));
    const socket = connect(Number(port), '127.0.0.1');
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    socket.write(
      'POST /job HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 10\r\n\r\n{',
    );
    master.signal('SIGTERM');
    await until(() => isRefused(Number(port)));
    await expect(master.end('SIGINT')).resolves.toBe(1);
    socket.destroy();
  });

  it('ends in good order when its terminal goes away', async () => {
    const master = masterProcess(['--redis', used.url, '--port', '0']);
    await urlOf(master);
    await expect(master.end('SIGHUP')).resolves.toBe(0);
  });

  it('serves without Redis, answers 503, and is ready when Redis is', async () => {
    const server = await RedisServer.start();
    onTestFinished.push(() => server.stop());
    await server.kill();
    const master = masterProcess(['--redis', server.url, '--port', '0']);
    const http = new Http(await urlOf(master));
    await expect(http.call('GET', '/health/live')).resolves.toMatchObject({ status: 200 });
    await expect(http.call('GET', '/health/ready')).resolves.toMatchObject({ status: 503 });
    const reply = await http.post('/job', { name: 'mail', argument: {} });
    expect(reply).toMatchObject({ status: 503, body: { code: 'UNAVAILABLE' } });
    expect(reply.headers.get('retry-after')).toBe('1');
    await server.restart();
    await eventually(async () => expect((await http.call('GET', '/health/ready')).status).toBe(200));
    const worker = await plainWorker();
    await http.register({ url: worker.url });
    const id = await http.enqueue();
    await until(() => worker.pushes.some((push) => push.id === id));

    await server.kill();
    await expect(master.end('SIGTERM')).resolves.toBe(0);
  });

  it('runs the jobs of a pusher on a worker that both know the contract alone', async () => {
    const url = await urlOf(masterProcess(['--redis', used.url, '--port', '0']));
    await python('worker', [url, 2]).says(1);
    const pusher = python('pusher', [url, 20]);
    await expect(pusher.exit()).resolves.toBe(0);
    const [, ...ends] = pusher.lines.map(
      (line) => JSON.parse(line) as { n: number; float: string; status: number },
    );
    expect(ends).toHaveLength(20);
    for (const { n, status, float } of ends) {
      expect([status, float]).toEqual([200, `[${n * 2}, 1.0]`]);
    }
  });

  it('sends a worker that knows nothing of batches none, however many jobs there are for it', async () => {
    const url = await urlOf(masterProcess(['--redis', used.url, '--port', '0']));
    const pusher = python('pusher', [url, 60]);
    await pusher.says(1);
    const worker = python('worker', [url, 30]);
    await expect(pusher.exit()).resolves.toBe(0);
    const said = worker.lines.map((line) => JSON.parse(line) as object);
    expect(said.filter((line) => 'strange' in line)).toEqual([]);
    expect(said.filter((line) => 'ran' in line).length).toBeGreaterThan(30);
  });

  it('shares the work among masters on one Redis, and forgets nothing when one is killed and started again', async () => {
    const port = String(await freePort());
    const args = (own: string) => ['--redis', used.url, '--port', own, '--push-timeout', '2s'];
    const [first, second] = [masterProcess(args(port)), masterProcess(args('0'))];
    const [firstUrl, secondUrl] = [await urlOf(first), await urlOf(second)];
    const worker = python('worker', [firstUrl, 4]);
    await worker.says(1);
    const pushers = [python('pusher', [firstUrl, 60]), python('pusher', [secondUrl, 60])];
    await worker.says(25);
    await first.end('SIGKILL');
    await second.end('SIGKILL');
    await urlOf(masterProcess(args(port)));
    await urlOf(masterProcess(args(new URL(secondUrl).port)));
    for (const pusher of pushers) {
      await expect(pusher.exit()).resolves.toBe(0);
      const [, ...ends] = pusher.lines.map(
        (line) => JSON.parse(line) as { job: { status: string; result: unknown }; n: number },
      );
      expect(ends.map(({ job: { status, result } }) => ({ status, result }))).toEqual(
        ends.map((_, n) => ({ status: 'done', result: [n * 2, 1] })),
      );
      expect(ends).toHaveLength(60);
    }
    const runs = worker.lines.slice(1).map((line) => JSON.parse(line) as { ran: string; status: number });
    const taken = runs.filter(({ status }) => status === 204).map(({ ran }) => ran);
    expect(new Set(taken).size).toBeGreaterThanOrEqual(120);
  });
});
