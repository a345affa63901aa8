import { beforeEach, describe, expect, it } from '@jest/globals';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { eventually, until } from '../../support/until.js';
import { gate } from '../../support/gate.js';
import { freePort } from '../../support/free-port.js';
import { vector } from '../message-pack/vectors.js';
import type { Http } from './http.js';
import { accept, plainWorker, status, stopPlainWorkersAfterEach } from './plain-worker.js';
import { useMaster } from './use-master.js';

describe('pushes to workers', () => {
  const master = useMaster({ suspect: 50, suspectCap: 200 });
  stopPlainWorkersAfterEach();
  beforeEach(() => master.redis.redis.flushall());

  const statusOf = async (id: string, http: Http = master) =>
    ((await http.job(id)).body as { status: string }).status;
  const untilStatus = (id: string, wanted: string, http: Http = master) =>
    until(async () => (await statusOf(id, http)) === wanted);
  /** For workers that are to be too slow for it. The others have time, however busy this machine is. */
  const hasty = () => master.another({ prefix: '{hasty}:', pushTimeout: 300, suspect: 50, suspectCap: 200 });

  it('are POSTs of the contract, to the path below the url, whose slash at the end is ignored', async () => {
    const worker = await plainWorker();
    const worker_id = await master.register({ url: `${worker.url}/jobs/` });
    const { body } = await master.call('POST', '/job', { body: vector('POST /job all') });
    const { job_id } = body as { job_id: string };
    await untilStatus(job_id, 'running');
    const [push] = worker.pushes;
    expect(push).toMatchObject({
      path: '/jobs/worker-job',
      id: job_id,
      job_id,
      name: 'mail',
      timeout: 30,
      attempt: 1,
    });
    expect(push?.headers['content-type']).toBe('application/msgpack');
    expect(push?.bytes.includes(Buffer.from('a8617267756d656e7481a2746fa3614062', 'hex'))).toBe(true);
    await expect(master.job(job_id)).resolves.toMatchObject({ body: { worker_id } });
  });

  it('are not the only sign of a worker: a silent one is asked, and forgotten', async () => {
    const http = await master.another({
      prefix: '{asks}:',
      forgetWorker: 200,
      suspectCap: 100,
      pushTimeout: 500,
    });
    const there = await plainWorker();
    there.probed = (response) => void response.writeHead(410, { 'content-type': 'text/html' }).end();
    const left = await plainWorker();
    const worker = await http.register({ url: there.url });
    await http.register({ url: left.url });
    await left.close();
    const workers = () => master.redis.redis.zrange('{asks}:workers', '0', '-1');
    await eventually(async () => expect(await workers()).toHaveLength(1));
    await expect(workers()).resolves.toEqual([worker]);
    const path = `/api/workers/${worker}`;
    await expect(http.call('DELETE', path)).resolves.toMatchObject({ status: 204 });
    await expect(http.call('DELETE', path)).resolves.toMatchObject({ status: 404 });
  });

  it('that are answered 410 end the registration: who was there before has left, and the job lost nothing', async () => {
    const gone = await plainWorker(status(410));
    const id = await master.enqueue({ max_retry: 0 });
    const worker = await master.register({ url: gone.url });
    await eventually(async () =>
      expect((await master.call('POST', '/worker/ping', { worker })).status).toBe(404),
    );
    await expect(statusOf(id)).resolves.toBe('queued');
    const good = await plainWorker();
    await master.register({ url: good.url });
    await untilStatus(id, 'running');
    expect(gone.pushes).toHaveLength(1);
  });

  it.each([
    ['a worker that answers 404', 404],
    ['one that answers 500', 500],
    ['one that redirects', 302],
    ['one that is busy', 503],
  ])('go on to another after %s', async (_, code) => {
    const [bad, good] = [
      await plainWorker(status(code, { location: 'http://127.0.0.1:1/' })),
      await plainWorker(),
    ];
    await master.register({ url: bad.url });
    const id = await master.enqueue();
    await eventually(() => expect(bad.pushes.length).toBeGreaterThan(0));
    await expect(statusOf(id)).resolves.toBe('queued');
    await master.register({ url: good.url });
    await untilStatus(id, 'running');
    expect(good.pushes).toMatchObject([{ id }]);
  });

  it('go on to another after a worker that is not there', async () => {
    const good = await plainWorker();
    await master.register({ url: `http://127.0.0.1:${await freePort()}` });
    const id = await master.enqueue();
    await master.register({ url: good.url });
    await untilStatus(id, 'running');
    await expect(master.job(id)).resolves.toMatchObject({ body: { retry_count: 0 } });
  });

  it('go on to another after a worker that says nothing, and others are not kept waiting', async () => {
    const http = await hasty();
    const ids = await Promise.all(Array.from({ length: 10 }, () => http.enqueue()));
    const [silent, good] = [await plainWorker(() => undefined), await plainWorker()];
    await http.register({ url: silent.url, max_jobs: 10 });
    await eventually(() => expect(silent.pushes.length).toBeGreaterThanOrEqual(10));
    await http.register({ url: good.url, max_jobs: 100 });
    const quick = await http.enqueue();
    await untilStatus(quick, 'running', http);
    const all = new Set([...ids, quick]);
    await eventually(() => expect(good.pushes.length).toBeGreaterThanOrEqual(all.size));
    expect(new Set(good.pushes.map(({ id }) => id))).toEqual(all);
  });

  it('go on to another after a worker that is connected to and says nothing at all', async () => {
    const http = await hasty();
    const [mute, good] = [await muteSocket(), await plainWorker()];
    await http.register({ url: `https://127.0.0.1:${mute.port}` });
    const id = await http.enqueue();
    await eventually(() => expect(mute.connections).toBeGreaterThan(0));
    await http.register({ url: good.url });
    await untilStatus(id, 'running', http);
    // It can't have begun there: nothing is open, and nothing spent.
    await expect(http.call('GET', `/api/jobs/${id}`)).resolves.toMatchObject({
      body: { attempt: good.pushes[0]?.attempt, attempts: [], retry_count: 0 },
    });
    await mute.close();
  });

  it('honour Retry-After', async () => {
    const worker = await plainWorker(status(429, { 'retry-after': '1' }));
    await master.register({ url: worker.url });
    const id = await master.enqueue();
    await eventually(() => expect(worker.pushes.length).toBeGreaterThan(0));
    const refused = performance.now();
    worker.answer = accept;
    await untilStatus(id, 'running');
    expect(performance.now() - refused).toBeGreaterThan(900);
    expect(worker.pushes).toHaveLength(2);
  });

  it.each([429, 503])('come again soon after a page of %d, however long it asks to wait', async (code) => {
    const worker = await plainWorker(status(code, { 'retry-after': '300', 'content-type': 'text/html' }));
    await master.register({ url: worker.url });
    const id = await master.enqueue();
    await eventually(() => expect(worker.pushes.length).toBeGreaterThan(0));
    worker.answer = accept;
    await untilStatus(id, 'running');
  });

  it('end a job for good that a worker refuses with 400', async () => {
    const worker = await plainWorker(status(400));
    await master.register({ url: worker.url });
    const id = await master.enqueue();
    await untilStatus(id, 'error');
    expect(worker.pushes).toHaveLength(1);
  });

  it.each([200, 204, 206, 400, 404, 410, 413, 429, 500, 503])(
    'come again after a page of %d, which is no answer of the worker',
    async (code) => {
      const worker = await plainWorker((_, response) => {
        worker.answer = accept;
        response.writeHead(code, { 'content-type': 'text/html; charset=utf-8' });
        response.end(code === 204 ? undefined : '<html></html>');
      });
      const worker_id = await master.register({ url: worker.url });
      const id = await master.enqueue({ max_retry: 0 });
      await untilStatus(id, 'running');
      await expect(master.job(id)).resolves.toMatchObject({ body: { worker_id, retry_count: 0 } });
      expect(worker.pushes).toHaveLength(2);
    },
  );

  it.each([
    ['a page of 429', 429, { 'content-type': 'text/html' }],
    ['a page of 503', 503, { 'content-type': 'text/html', 'retry-after': '3600' }],
    ['a text of 503', 503, { 'content-type': 'text/plain' }],
    ['an empty 502', 502, {}],
    ['an empty 503', 503, {}],
  ])('may have been taken behind %s: its report counts', async (_, code, headers) => {
    const http = await master.another({ prefix: '{open}:', suspect: '1h', suspectCap: '1h' });
    const worker = await plainWorker(status(code, headers));
    const worker_id = await http.register({ url: worker.url });
    const id = await http.enqueue({ max_retry: 0 });
    await until(() => worker.pushes.length > 0);
    await until(async () => (await master.redis.redis.hget(`{open}:job:${id}`, 'state')) === 'queued');
    const report = { job_id: id, attempt: 1, type: 'success', result: 1 };
    await expect(http.post('/done', report, { worker: worker_id })).resolves.toMatchObject({ status: 204 });
    await expect(statusOf(id, http)).resolves.toBe('done');
  });

  it.each([429, 503])('come later after %d in words, as frameworks say it, if it says when', async (code) => {
    const headers = { 'content-type': 'text/plain; charset=utf-8', 'retry-after': '1' };
    const worker = await plainWorker((request, response) => {
      worker.answer = accept;
      status(code, headers)(request, response);
    });
    const worker_id = await master.register({ url: worker.url });
    const id = await master.enqueue();
    await untilStatus(id, 'running');
    expect(worker.pushes).toHaveLength(2);
    await expect(master.job(id)).resolves.toMatchObject({ body: { worker_id } });
    await expect(master.redis.redis.hget(`{jq}:job:${id}`, 'bounces')).resolves.toBeNull();
  });

  it.each(['application/msgpack', 'application/json'])(
    'end a job that is refused with a body of %s',
    async (type) => {
      const worker = await plainWorker(status(400, { 'content-type': type }));
      await master.register({ url: worker.url });
      await untilStatus(await master.enqueue(), 'error');
    },
  );

  it('are taken with 202, whatever its body is', async () => {
    const worker = await plainWorker((_, response) =>
      response.writeHead(202, { 'content-type': 'text/html' }).end('OK'),
    );
    await master.register({ url: worker.url });
    await untilStatus(await master.enqueue(), 'running');
    expect(worker.pushes).toHaveLength(1);
  });

  it('never exceed max_jobs, and follow each report at once', async () => {
    let [running, most] = [0, 0];
    const worker = await plainWorker((push, response) => {
      running += 1;
      most = Math.max(most, running);
      accept(push, response);
      setImmediate(() => {
        running -= 1;
        void master.post('/done', { job_id: push.id, type: 'success' }, { worker: worker_id });
      });
    });
    const worker_id = await master.register({ url: worker.url, max_jobs: 3 });
    const ids = await Promise.all(Array.from({ length: 100 }, () => master.enqueue()));
    for (const id of ids) {
      await expect(master.call('GET', `/job/${id}/polling?timeout=60`)).resolves.toMatchObject({
        status: 200,
      });
    }
    expect(most).toBeLessThanOrEqual(3);
    expect(worker.pushes).toHaveLength(100);
  });

  it('come again after a failure, with the next attempt', async () => {
    const quick = await master.another({ backoff: 10 });
    const worker = await plainWorker((push, response) => {
      accept(push, response);
      const failure = { type: 'failure', reason: 'other', should_retry: true, message: 'again' };
      const report = push.attempt < 3 ? failure : { type: 'success', result: push.attempt };
      void quick.post('/done', { job_id: push.id, attempt: push.attempt, ...report }, { worker: worker_id });
    });
    const worker_id = await quick.register({ url: worker.url });
    const id = await quick.enqueue({ keep_result: true });
    await expect(quick.call('GET', `/job/${id}/polling?timeout=60`)).resolves.toMatchObject({
      body: { status: 'done', result: 3, retry_count: 2 },
    });
  });

  it('end before a master has closed, and the rest is for other masters', async () => {
    const closing = await master.another({ prefix: '{closing}:' });
    const worker = await plainWorker((push, response) => setTimeout(() => accept(push, response), 100));
    await closing.register({ url: worker.url });
    const id = await closing.enqueue();
    await eventually(() => expect(worker.pushes.length).toBeGreaterThan(0));
    await closing.master.close();
    const other = await master.another({ prefix: '{closing}:' });
    await expect(other.job(id)).resolves.toMatchObject({ body: { status: 'running' } });
    await expect(closing.job(id)).rejects.toThrow();
  });

  it('keep a master from closing, and no request waits for it meanwhile: it is to come again later', async () => {
    const closing = await master.another({ prefix: '{slow}:' });
    const answered = gate();
    const worker = await plainWorker(
      (push, response) => void answered.passed.then(() => accept(push, response)),
    );
    await closing.register({ url: worker.url });
    const id = await closing.enqueue();
    await eventually(() => expect(worker.pushes.length).toBeGreaterThan(0));
    const puller = await closing.register({ names: ['other'] });
    const waiting = closing.pull(puller, 60);
    await until(() => master.redis.redis.exists('{slow}:pullers'));
    const closed = closing.master.close();
    await expect(waiting).resolves.toMatchObject({ status: 204 });
    const late = [closing.pull(puller, 60), closing.call('GET', `/job/${id}/polling?timeout=60`)];
    for (const { status: code, headers } of await Promise.all(late)) {
      expect([code, headers.get('retry-after')]).toEqual([503, '1']);
    }
    await expect(closing.call('GET', `/job/${id}/polling?timeout=0`)).resolves.toMatchObject({ status: 408 });
    answered.open();
    await closed;
  });
});

/** Accepts connections, and says nothing: no TLS will come about. */
async function muteSocket() {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => sockets.add(socket.on('error', () => undefined))).unref();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    get connections() {
      return sockets.size;
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}
