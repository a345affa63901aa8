import { beforeEach, describe, expect, it } from '@jest/globals';
import { verify } from '../../../lib/jq/wire/signature.js';
import { eventually, until } from '../../support/until.js';
import {
  acceptAll,
  batchWorker,
  stopBatchWorkersAfterEach,
  verdicts,
  type PushedJob,
  type Received,
} from './batch-worker.js';
import type { Http } from './http.js';
import { plainWorker, stopPlainWorkersAfterEach } from './plain-worker.js';
import { useMaster } from './use-master.js';

describe('pushes to a worker that takes batches', () => {
  const master = useMaster({ suspect: 50, suspectCap: 200 });
  stopBatchWorkersAfterEach();
  stopPlainWorkersAfterEach();
  beforeEach(() => master.redis.redis.flushall());

  const enqueue = (count: number, job: object = {}, http: Http = master) =>
    Promise.all(
      Array.from({ length: count }, (_, n) => http.enqueue({ argument: { n }, name: `mail-${n}`, ...job })),
    );
  const stateOf = async (id: string) => (await master.job(id)).body as Record<string, unknown>;
  const untilStatus = (ids: readonly string[], status: string) =>
    until(async () => (await Promise.all(ids.map(stateOf))).every((job) => job['status'] === status));
  const details = async (id: string) => (await master.call('GET', `/api/jobs/${id}`)).body;

  it('hold what a turn hands to it, up to what it says', async () => {
    const worker = await batchWorker();
    const ids = await enqueue(10);
    await master.register({ url: worker.url, max_jobs: 10, batch: 4 });
    await untilStatus(ids, 'running');
    expect(worker.sizes.toSorted()).toEqual([2, 4, 4]);
    // Jobs that are enqueued at once are of no order, nor are requests on several connections.
    const pushed = worker.received.flatMap(({ jobs }) => jobs);
    const orderOf = ({ id }: PushedJob) => ids.indexOf(id);
    expect(pushed.toSorted((one, other) => orderOf(one) - orderOf(other))).toMatchObject(
      ids.map((id, n) => ({ id, attempt: 1, timeout: 30, argument: { n } })),
    );
  });

  it.each([
    ['one that says nothing of them', {}],
    ['one that takes one job at a time', { batch: 1 }],
  ])('are single ones for %s', async (_, says) => {
    const worker = await plainWorker();
    const ids = await enqueue(20);
    const { body } = await master.post('/worker', { name: 'w', max_jobs: 20, url: worker.url, ...says });
    await untilStatus(ids, 'running');
    expect(worker.pushes.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
    expect(Object.keys(body as object)).toEqual('batch' in says ? ['worker_id', 'batch'] : ['worker_id']);
  });

  it('are known to every master, and never of more than a hundred jobs', async () => {
    const worker = await batchWorker();
    const other = await master.another({ maxPushes: 1000 });
    await master.register({ url: worker.url, max_jobs: 500, batch: 2 ** 31 - 1 });
    const ids = await enqueue(300, {}, other);
    await untilStatus(ids, 'running');
    expect(Math.max(...worker.sizes)).toBeGreaterThan(1);
    expect(Math.max(...worker.sizes)).toBeLessThanOrEqual(100);
  });

  it('are a plain push where there is one job', async () => {
    const worker = await batchWorker();
    await master.register({ url: worker.url, max_jobs: 10, batch: 10 });
    const ids = await enqueue(1);
    await untilStatus(ids, 'running');
    expect(worker.sizes).toEqual([0]);
  });

  it('leave large jobs alone, so that no batch is over 256 KiB', async () => {
    const worker = await batchWorker();
    const small = await enqueue(2);
    const [large = ''] = await enqueue(1, { argument: { n: 0, text: 'x'.repeat(300_000) } });
    const half = await enqueue(3, { argument: { n: 0, text: 'x'.repeat(100_000) } });
    await master.register({ url: worker.url, max_jobs: 10, batch: 100 });
    await untilStatus([...small, large, ...half], 'running');
    const alone = worker.received.filter(({ body }) => !Array.isArray(body));
    expect(alone.map(({ jobs }) => jobs[0]?.id)).toContain(large);
    const batches = worker.received.filter(({ body }) => Array.isArray(body));
    expect(batches.length).toBeGreaterThan(0);
    for (const { bytes } of batches) expect(bytes.length).toBeLessThanOrEqual(256 * 1024);
  });

  it('are answered for each job: taken, unknown, later, refused and broken in one', async () => {
    const answers = [202, 404, 429, 400, 500, 202];
    const seen: number[] = [];
    const judge = ({ argument: { n } }: PushedJob) => {
      seen.push(n);
      const first = seen.filter((each) => each === n).length === 1;
      return first ? { status: answers[n] ?? 0, retry_after: 1 } : { status: 202 };
    };
    const worker = await batchWorker(verdicts(judge));
    const ids = await enqueue(answers.length);
    await master.register({ url: worker.url, max_jobs: 10, batch: 10 });
    await eventually(() => expect(worker.received.length).toBeGreaterThan(0));
    expect(worker.sizes[0]).toBe(6);
    const [taken = '', unknown = '', later = '', refused = '', broken = '', last = ''] = ids;
    await untilStatus([taken, last], 'running');
    await untilStatus([refused], 'error');
    await expect(stateOf(refused)).resolves.toMatchObject({ message: expect.stringContaining('400') });
    await untilStatus([later, broken], 'running');
    await expect(stateOf(unknown)).resolves.toMatchObject({ status: 'queued', retry_count: 0 });
    const other = await plainWorker();
    await master.register({ url: other.url });
    await untilStatus([unknown], 'running');
    expect(other.pushes.map(({ id }) => id)).toEqual([unknown]);
    await expect(stateOf(broken)).resolves.toMatchObject({ retry_count: 0 });
  });

  it('rest for as long as any verdict asks', async () => {
    let refused: number | undefined;
    const judge = ({ argument: { n } }: PushedJob) => {
      if (n !== 1 || refused !== undefined) return { status: 202 };
      refused = performance.now();
      return { status: 429, retry_after: 2 };
    };
    const worker = await batchWorker(verdicts(judge));
    const ids = await enqueue(3);
    await master.register({ url: worker.url, max_jobs: 10, batch: 10 });
    await untilStatus(ids, 'running');
    expect(performance.now() - (refused ?? Infinity)).toBeGreaterThan(1900);
    expect(worker.sizes).toEqual([3, 0]);
  });

  it('lose nothing when the connection is cut, spend no retry, and count as one failure', async () => {
    const worker = await batchWorker((_, response) => response.destroy());
    const ids = await enqueue(10);
    const id = await master.register({ url: worker.url, max_jobs: 10, batch: 10 });
    await eventually(() => expect(worker.received.length).toBeGreaterThan(0));
    await until(async () => {
      const { body } = await master.call('GET', `/api/workers/${id}`);
      return (body as { failures: number }).failures === 1 && (body as { state: string }).state === 'suspect';
    });
    worker.answer = acceptAll;
    await untilStatus(ids, 'running');
    for (const each of await Promise.all(ids.map(stateOf))) expect(each).toMatchObject({ retry_count: 0 });
  });

  it.each([
    ['500', 500],
    ['503 with Retry-After', 503],
    ['401', 401],
  ])('are for each job what a single one is, when all the worker says is %s', async (_, status) => {
    const worker = await batchWorker((_received, response) =>
      response.writeHead(status, { 'retry-after': '0' }).end(),
    );
    const ids = await enqueue(5);
    await master.register({ url: worker.url, max_jobs: 10, batch: 10 });
    await eventually(() => expect(worker.received.length).toBeGreaterThan(0));
    expect(worker.sizes[0]).toBe(5);
    worker.answer = acceptAll;
    await untilStatus(ids, 'running');
    for (const each of await Promise.all(ids.map(stateOf))) expect(each).toMatchObject({ retry_count: 0 });
  });

  it.each([400, 404, 413, 415, 422])('are sent singly after a batch was refused with %d', async (status) => {
    const worker = await batchWorker((received, response) => {
      if (Array.isArray(received.body)) response.writeHead(status).end();
      else acceptAll(received, response);
    });
    const ids = await enqueue(5);
    await master.register({ url: worker.url, max_jobs: 10, batch: 10 });
    await untilStatus(ids, 'running');
    expect(worker.sizes.toSorted()).toEqual([0, 0, 0, 0, 0, 5]);
    await expect(details(ids[0] ?? '')).resolves.toMatchObject({ attempt: 1 });
  });

  it('are taken as unanswered where the reply says something else: reports are taken, and nothing is lost', async () => {
    const worker = await batchWorker((_, response) => response.writeHead(200).end('[202,202]'));
    const ids = await enqueue(2);
    const id = await master.register({ url: worker.url, max_jobs: 10, batch: 10 });
    await eventually(() => expect(worker.received.length).toBeGreaterThan(0));
    worker.answer = (_, response) => response.destroy();
    const [first] = ids;
    const report = () => master.post('/done', { job_id: first, type: 'success' }, { worker: id });
    await eventually(async () => expect((await report()).status).toBe(204));
    worker.answer = acceptAll;
    await untilStatus(ids.slice(1), 'running');
  });

  it('are signed as a whole', async () => {
    const secret = 'a secret of enough bytes';
    const http = await master.another({ callbacks: { secret } });
    const worker = await batchWorker();
    const ids = await enqueue(5);
    await http.register({ url: worker.url, max_jobs: 10, batch: 10 });
    await untilStatus(ids, 'running');
    expect(worker.sizes).toEqual([5]);
    const [{ bytes, headers }] = worker.received as [Received];
    expect(verify(bytes, headers, { url: worker.url, secrets: [secret], window: 60_000 })).toBe(true);
  });
});
