import type { Redis } from 'ioredis';
import type { JqMasterOptions } from '../../lib/jq/master/master-options.js';
import type { Http } from '../jq/master/http.js';
import { plainWorker, status } from '../jq/master/plain-worker.js';
import { until } from '../support/until.js';

/** So that all that falls due by the clock does. */
export const SOON: Partial<JqMasterOptions> = {
  backoff: 1,
  backoffCap: 1,
  grace: 1,
  suspect: 1,
  suspectCap: 1,
  lostAfter: 1,
  forgetWorker: 1,
  unreadResult: 1,
  tombstone: 1000,
};

interface Master {
  readonly master: Http;
  /** A worker's id. */
  readonly worker: string;
}

/** Everything that pushers, workers and administrators ask of a master. `redis` may do all. */
export async function useEverything(master: Http, redis: Redis): Promise<void> {
  const worker = await master.register({ names: ['mail'], max_jobs: 100 });
  await jobs({ master, worker });
  await constraints({ master, worker });
  await pushes(master);
  await administration({ master, worker });
  await sweeps({ master, worker }, redis);
}

async function jobs({ master, worker }: Master): Promise<void> {
  const headers = { 'idempotency-key': 'once' };
  for (const _ of [1, 2]) await master.post('/job', { name: 'mail', argument: {} }, { headers });
  const polling = master.pull(worker, 60);
  const taken = (await polling).body as { id: string };
  for (const path of ['confirm', 'release']) {
    await master.post(`/worker/${path}`, { job_id: taken.id, attempt: 1 }, { worker });
  }
  await master.call('POST', '/worker/ping', { worker });
  const result = { type: 'success', result: 1 };
  await master.post('/done', { job_id: await pulled({ master, worker }), ...result }, { worker });
  const kept = await master.enqueue({ keep_result: true });
  const awaited = master.call('GET', `/job/${kept}/polling?timeout=60`);
  await master.post('/done', { job_id: await pulled({ master, worker }), ...result }, { worker });
  await awaited;
  await master.call('DELETE', `/job/${await master.enqueue()}`);
}

async function pulled({ master, worker }: Master): Promise<string> {
  const { status: code, body } = await master.pull(worker, 10);
  if (code !== 200) throw new Error(`Expected a job, got ${code}.`);
  return (body as { id: string }).id;
}

async function fail({ master, worker }: Master, id: string, should_retry: boolean): Promise<void> {
  const failure = { type: 'failure', reason: 'other', should_retry, message: 'boom' };
  await master.post('/done', { job_id: id, ...failure }, { worker });
}

async function constraints({ master, worker }: Master): Promise<void> {
  const rule = { match: [{ field: 'name', equal: 'mail' }], per: 'argument.to', concurrency: 1 };
  const { body } = await master.post('/constraints', { ...rule, rate: { count: 100, period: 1 } });
  const { id } = body as { id: string };
  await master.enqueue();
  await master.enqueue();
  await master.call('GET', '/constraints');
  const first = await pulled({ master, worker });
  await master.pull(worker);
  await master.call('DELETE', `/constraints/${id}`);
  await fail({ master, worker }, first, true);
  await fail({ master, worker }, await pulled({ master, worker }), false);
  await fail({ master, worker }, await pulled({ master, worker }), false);
}

async function pushes(master: Http): Promise<void> {
  const pushed = await plainWorker();
  const id = await master.register({ url: pushed.url, names: ['202', '404', '429', '500'], max_jobs: 10 });
  for (const code of [202, 404, 429, 500]) {
    pushed.answer = status(code);
    const job = await master.enqueue({ name: `${code}`, max_retry: 0 });
    await until(() => pushed.pushes.some(({ name }) => name === `${code}`));
    if (code === 202) await master.post('/done', { job_id: job, type: 'success' }, { worker: id });
  }
  await pushed.close();
  await master.call('DELETE', '/worker', { worker: await master.register() });
}

async function administration({ master, worker }: Master): Promise<void> {
  const dead = await master.enqueue({ max_retry: 0 });
  await pulled({ master, worker });
  await fail({ master, worker }, dead, false);
  const { body } = await master.call('GET', '/api/jobs?limit=1');
  const cursor = String((body as { cursor: string }).cursor);
  for (const path of [
    `/api/jobs?limit=1&cursor=${cursor}`,
    `/api/jobs/${dead}`,
    '/api/dead-letters?name=mail',
    '/api/workers',
    `/api/workers/${worker}`,
    '/api/names',
    '/api/counts',
    '/metrics',
    '/health/ready',
  ])
    await master.call('GET', path);
  await master.call('POST', `/api/dead-letters/${dead}/requeue`);
  await fail({ master, worker }, await pulled({ master, worker }), false);
  await master.call('POST', '/api/dead-letters/requeue');
  await fail({ master, worker }, await pulled({ master, worker }), false);
  await master.call('DELETE', '/api/dead-letters');
}

async function sweeps({ master, worker }: Master, redis: Redis): Promise<void> {
  const id = await master.enqueue({ timeout: 1, max_retry: 0 });
  await pulled({ master, worker });
  for (const key of [`worker:${worker}`, `job:${id}`])
    await until(async () => (await redis.exists(`{jq}:${key}`)) === 0, { message: `${key} stays` });
}
