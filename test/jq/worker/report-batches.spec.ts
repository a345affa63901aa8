import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingMessage } from 'node:http';
import { defineJob } from '../../../lib/job/job-definition.js';
import { messagePack } from '../../../lib/jq/message-pack/codec.js';
import { jq } from '../../../lib/jq/worker/jq-source.js';
import { SlotTable } from '../../../lib/worker/function-slots.js';
import { gate } from '../../support/gate.js';
import { runWorker, stopWorkers, stopWorkersAfterEach } from '../../support/run-worker.js';
import { eventually, until } from '../../support/until.js';
import { useMaster } from '../master/use-master.js';
import {
  judged,
  scriptedMaster,
  stopScriptedMastersAfterEach,
  type ScriptedMaster,
} from './scripted-master.js';
import { listeningWorker, packed, push, type ListeningWorker } from './worker-rig.js';

const JOBS = 20;

describe('the reports of a worker', () => {
  stopWorkersAfterEach();
  stopScriptedMastersAfterEach();
  let worker: ListeningWorker;

  it.each([404, 409])(
    'may be refused with an empty %d by a master that gives no attempts',
    async (status) => {
      const master = await scriptedMaster();
      master.onDone = (_, response) => void response.writeHead(status).end();
      worker = await listeningWorker(master.url, 'mail', () => 'ran');
      await eventually(() => expect(master.registrations.length).toBeGreaterThan(0));
      const { attempt, ...job } = push();
      expect(attempt).toBe(1);
      await worker.http.call('POST', '/worker-job', { body: Buffer.from(packed(job)) });
      await eventually(() => expect(master.reports).toHaveLength(1));
      await stopWorkers();
      expect([master.reports.length, worker.problems]).toEqual([1, []]);
    },
  );

  /** Gives it jobs that all end in one moment. */
  async function endTogether(
    master: ScriptedMaster,
    handle: (n: number) => unknown = () => 'ran',
  ): Promise<string[]> {
    const end = gate();
    let running = 0;
    const run = async (input: unknown) => {
      running += 1;
      await end.passed;
      return handle((input as { n: number }).n);
    };
    worker = await listeningWorker(master.url, 'mail', run, { handler: { concurrency: JOBS } });
    await eventually(() => expect(master.registrations.length).toBeGreaterThan(0));
    const ids = Array.from({ length: JOBS }, (_, n) => `job-${n}`);
    await until(async () => {
      const pushes = ids.map((id, n) => worker.http.post('/worker-job', push({ id, argument: { n } })));
      return (await Promise.all(pushes)).every(({ status }) => status === 202);
    });
    expect(running).toBe(JOBS);
    end.open();
    return ids;
  }
  const untilTaken = (master: ScriptedMaster, ids: readonly string[]) =>
    until(() => ids.every((id) => master.taken.has(id)));
  const batches = (master: ScriptedMaster) => master.reports.filter((body) => Array.isArray(body));

  it('go one by one to a master that takes no batches', async () => {
    const master = await scriptedMaster();
    const ids = await endTogether(master);
    await untilTaken(master, ids);
    expect(master.registrations).toMatchObject([{ max_jobs: JOBS, batch: 100 }]);
    expect(batches(master)).toEqual([]);
    expect(master.reports).toHaveLength(JOBS);
  });

  it.each([0, 1, -5, 'many', null, 2 ** 40, [100]])(
    'take an offer of %j for none, or for a hundred',
    async (batch) => {
      const master = await scriptedMaster({ batch });
      master.onDone = judged(master);
      const ids = await endTogether(master);
      await untilTaken(master, ids);
      expect(batches(master).length > 0).toBe(batch === 2 ** 40);
    },
  );

  it('that end together go together, as many as the master takes', async () => {
    const master = await scriptedMaster({ batch: 8 });
    master.onDone = judged(master);
    const ids = await endTogether(master);
    await untilTaken(master, ids);
    expect(batches(master).length).toBeGreaterThan(0);
    expect(master.reports.length).toBeLessThan(JOBS / 2);
    expect(Math.max(...batches(master).map((body) => (body as unknown[]).length))).toBeLessThanOrEqual(8);
    expect(master.reports.flat()).toHaveLength(JOBS);
  });

  it.each([400, 404, 413, 415, 422, 204])(
    'go singly when a batch is answered with %d, until it registers anew',
    async (status) => {
      const master = await scriptedMaster({ batch: 100 });
      const take = judged(master);
      master.onDone = (body, response) =>
        Array.isArray(body) ? void response.writeHead(status).end() : take(body, response);
      const ids = await endTogether(master);
      await untilTaken(master, ids);
      // Two are under way at a time: both had begun.
      const refused = batches(master).length;
      expect(refused).toBeLessThanOrEqual(2);
      expect(refused).toBeGreaterThan(0);
      const next = Array.from({ length: JOBS }, (_, n) => `next-${n}`);
      await worker.http.post(
        '/worker-job',
        next.map((id) => push({ id })),
      );
      await untilTaken(master, next);
      expect(batches(master)).toHaveLength(refused);
    },
  );

  it('come again where the master said "later", or nothing, of all or of some', async () => {
    const master = await scriptedMaster({ batch: 100 });
    let calls = 0;
    const said = new Set<string>();
    const take = judged(master, ({ job_id }) => {
      if (said.has(job_id) || !job_id.endsWith('7')) return { status: 204 };
      said.add(job_id);
      return { status: 503, code: 'UNAVAILABLE', message: 'later', retry_after: 0 };
    });
    master.onDone = (body, response) => {
      calls += 1;
      if (calls === 1) response.destroy();
      else if (calls === 2) response.writeHead(503, { 'retry-after': '0' }).end();
      else if (calls === 3) response.writeHead(401).end();
      else take(body, response);
    };
    const ids = await endTogether(master);
    await untilTaken(master, ids);
    expect(said.size).toBe(2);
    expect(batches(master).length).toBeGreaterThan(0);
  });

  it('come again when the verdict says', async () => {
    const master = await scriptedMaster({ batch: 100 });
    let refused: number | undefined;
    master.onDone = judged(master, ({ job_id }) => {
      if (job_id !== 'job-4' || refused !== undefined) return { status: 204 };
      refused = performance.now();
      return { status: 429, code: 'BUSY', message: 'later', retry_after: 1 };
    });
    const ids = await endTogether(master);
    await untilTaken(master, ids);
    expect(performance.now() - (refused ?? Infinity)).toBeGreaterThan(900);
  });

  it('are settled one by one: refused, too large, and of a worker that was forgotten', async () => {
    const master = await scriptedMaster({ batch: 100 });
    const apologies: string[] = [];
    master.onDone = judged(master, ({ job_id, type, message }) => {
      if (job_id === 'job-1') return { status: 409, code: 'REPORT_REFUSED', message: 'Too late.' };
      if (job_id === 'job-2') return { status: 404, code: 'WORKER_NOT_FOUND', message: 'Who?' };
      if (job_id !== 'job-3' || type === 'failure') {
        if (message !== undefined) apologies.push(message);
        return { status: 204 };
      }
      return { status: 400, code: 'MALFORMED_MESSAGE', message: 'It is nested too deeply.' };
    });
    const ids = await endTogether(master);
    await untilTaken(
      master,
      ids.filter((id) => id !== 'job-1' && id !== 'job-2'),
    );
    expect(apologies).toEqual(['The master refused the report with 400: It is nested too deeply.']);
    await eventually(() => expect(master.registrations).toHaveLength(2));
    await eventually(() => expect(worker.said.length).toBeGreaterThanOrEqual(2));
    const refused = worker.said.filter((message) => message.includes('was refused'));
    expect(refused.map((message) => /job-\d+/.exec(message)?.[0]).toSorted()).toEqual(['job-1', 'job-2']);
  });

  it('that are large go alone', async () => {
    const master = await scriptedMaster({ batch: 100 });
    master.onDone = judged(master);
    const ids = await endTogether(master, (n) => (n === 5 ? 'x'.repeat(300_000) : 'ran'));
    await untilTaken(master, ids);
    const alone = master.reports.filter((body) => !Array.isArray(body));
    expect(alone).toContainEqual(expect.objectContaining({ job_id: 'job-5' }));
    expect(batches(master).flat()).not.toContainEqual(expect.objectContaining({ job_id: 'job-5' }));
  });

  it('do not keep a worker from leaving, even if the master does not answer a batch', async () => {
    const master = await scriptedMaster({ batch: 100 });
    const asked = gate();
    master.onDone = () => asked.open();
    const source = jq({ master: master.url, listen: { port: 0 }, onProblem: () => undefined });
    await source.open(['mail']);
    const claims = source.claim(new SlotTable([['mail', 2]]), AbortSignal.timeout(60_000));
    await eventually(() => expect(master.registrations.length).toBeGreaterThan(0));
    const url = String(master.registrations[0]?.['url']);
    const body = packed([push({ id: 'a' }), push({ id: 'b' })]);
    expect((await fetch(`${url}/worker-job`, { method: 'POST', body: Buffer.from(body) })).status).toBe(200);
    const outcomes = (await claims).map((claim) => ({ claim, status: 'success', output: 'x' }) as const);
    expect(outcomes).toHaveLength(2);
    const settled = source.settle(outcomes);
    await asked.passed;
    await Promise.all([expect(settled).rejects.toThrow('closed'), source.close()]);
  });
});

describe('jobs through a worker of a hundred slots', () => {
  const master = useMaster();
  stopWorkersAfterEach();
  beforeEach(() => master.redis.redis.flushall());
  const counts = { push: 0, report: 0 };
  const count = (message: unknown) => {
    const { method, url = '' } = (message as { request: IncomingMessage }).request;
    if (method === 'POST' && url.endsWith('/worker-job')) counts.push += 1;
    if (method === 'POST' && url === '/done') counts.report += 1;
  };
  beforeEach(() => subscribe('http.server.request.start', count));
  afterEach(() => void unsubscribe('http.server.request.start', count));

  it('take far fewer requests than two each', async () => {
    const ids = await Promise.all(
      Array.from({ length: 100 }, (_, n) => master.enqueue({ argument: { n }, keep_result: true })),
    );
    const source = jq({ master: master.url, listen: { port: 0 } });
    const double = (input: unknown) => (input as { n: number }).n * 2;
    await runWorker(source, defineJob('mail', { codec: messagePack }), double, { concurrency: 100 });
    const ends = await Promise.all(ids.map((id) => master.call('GET', `/job/${id}/polling?timeout=60`)));
    expect(ends.map(({ body }) => (body as { result: number }).result)).toEqual(ids.map((_, n) => n * 2));
    await stopWorkers();
    expect(counts.push).toBeGreaterThan(0);
    expect(counts.report).toBeGreaterThan(0);
    expect(counts.push + counts.report).toBeLessThan(30);
  });
});
