import type { Redis } from 'ioredis';
import { firstValueFrom, lastValueFrom } from 'rxjs';
import type { GearMonkeyClient } from '../../lib/gearmonkey/client.js';
import type { JobHandle } from '../../lib/gearmonkey/core/client/job-handle.js';
import type { UpdateOptions } from '../../lib/gearmonkey/core/client/run-options.js';
import { JobBegunError } from '../../lib/job/job-errors.js';
import { JOB_STATES } from '../../lib/job/job-state.js';
import type { RunningJob } from '../../lib/worker/running-job.js';
import { submit } from '../gearmonkey/redis-rig.js';
import { enqueue } from '../gearmonkey/scripts/scripts.js';
import { until } from '../support/until.js';

export const FN = 'mail';

/** Does what its input says. */
export async function handle(input: unknown, job: RunningJob): Promise<unknown> {
  if (input === 'fail') throw new Error('as asked');
  if (input === 'retry' && job.attempts === 1) throw new Error('the first time');
  if (input === 'progress') await job.update(1, 2);
  if (input === 'hold') await new Promise((resolve) => job.signal.addEventListener('abort', resolve));
  return input;
}

/** Everything that a client can ask while a worker with one slot runs `handle`. `redis` may do all. */
export async function askEverything(client: GearMonkeyClient, redis: Redis): Promise<void> {
  const events: string[] = [];
  const watching = client.events(FN).subscribe(({ type }) => events.push(type));
  await client.rollCall(FN);
  await client.call(FN, 'ok', { rollCall: true });
  await until(() => events.includes('finish'));
  watching.unsubscribe();
  await client.run(FN, 'ok', { blocking: true, priority: 'high' });
  await client.run(FN, 'ok', { blocking: true, priority: 'low' });
  await client.runMany(FN, ['ok', 'ok']);
  await client.call(FN, 'retry', { retry: { attempts: 2, delay: 1 } });
  await client.call(FN, 'progress');
  const failed = await client.run(FN, 'fail');
  await failed.result().catch((error: Error) => error);
  await failed.get();
  await watchAndCancel(client, redis);
  await enqueueUnique(client);
}

/** Also keys whose jobs have ended, which others find. */
async function enqueueUnique(client: GearMonkeyClient): Promise<void> {
  for (let key = 0; key < 20; key++) await client.call(FN, 'ok', { unique: { key: `${key}` } });
  for (const _ of [1, 2]) await (await client.run(FN, 'ok', { unique: { key: 'a', debounce: '1h' } })).get();
  await client.cancel(FN, (await client.run(FN, 'ok', { unique: { key: 'a', debounce: '1h' } })).id);
}

/** Makes schedules, and removes them when their jobs have run. */
export async function schedule(client: GearMonkeyClient): Promise<void> {
  const id = 'every-second';
  await client.recur(FN, { id, every: '1s', input: 'ok' });
  await client.schedules.pause(id);
  await client.schedules.resume(id);
  await until(async () => ((await client.schedules.get(id))?.created ?? 0) > 0);
  await client.schedules.update(id, { limit: 1 });
  await client.recur(FN, { id: 'once', every: '1s', input: 'ok', limit: 1 });
  await until(async () => (await client.schedules.get('once'))?.created === 1);
  await client.schedules.list();
  const nothing = { takesOver: false, declared: [], left: [], disabled: [], isComplete: true };
  for (const version of ['1.0.0', '2.0.0'])
    await client.schedules.declare({ ...nothing, app: { name: 'shop', version } });
  await client.schedules.list(FN);
  for (const each of [id, 'once']) await client.schedules.remove(each);
}

async function watchAndCancel(client: GearMonkeyClient, redis: Redis): Promise<void> {
  const held = await client.run(FN, 'hold');
  const watched = lastValueFrom(client.watch(FN, held.id));
  const progress = firstValueFrom(held.progress$);
  await until(async () => (await held.get()).state === 'running');
  await redis.hset(`job:${FN}:${held.id}`, 'status:dividend', 1, 'status:divisor', 3);
  await progress;
  const waiting = await client.run(FN, 'ok');
  const later = await client.run(FN, 'ok', { delay: '1 day' });
  await updateWaiting(waiting, { input: 'fail', priority: 'high' });
  await updateWaiting(waiting, { priority: 'high' });
  await updateWaiting(waiting, { delay: '1h' });
  await redis.hset(`job:${FN}:${later.id}`, 'waits', 'go');
  await later.signal('go', 1);
  await later.update({ priority: 'low' });
  for (const job of [waiting, later, held]) await job.cancel();
  await watched;
}

/** A worker may have claimed it ahead: it gives it back soon. */
async function updateWaiting(job: JobHandle, changes: UpdateOptions): Promise<void> {
  await until(() =>
    job.update(changes).then(
      () => true,
      (error: unknown) => {
        if (error instanceof JobBegunError) return false;
        throw error;
      },
    ),
  );
}

/** Also tags of jobs that are gone, which others find. `redis` may do all. */
export async function enqueueTagged(client: GearMonkeyClient, redis: Redis): Promise<void> {
  const job = await client.run(FN, 'ok', { tags: ['a', 'b'], blocking: true });
  await redis.del(`job:${FN}:${job.id}`);
  for (let n = 0; n < 20; n++) await client.call(FN, 'ok', { tags: ['a'] });
}

/** Everything that a viewer can ask. */
export async function view(client: GearMonkeyClient): Promise<void> {
  const later = await client.run(FN, 'ok', { delay: '1h' });
  const last = await client.run(FN, 'ok', { delay: '2h' });
  for (const state of JOB_STATES)
    for (const order of ['newest', 'oldest'] as const) {
      const { next } = await client.list(FN, { state, order, payloads: true, size: 1 });
      if (next !== undefined) await client.list(FN, { state, order, size: 1, page: next });
    }
  for (const order of ['newest', 'oldest'] as const) await client.find(FN, { tag: 'a', order, size: 1 });
  await client.find(FN, { key: 'a' });
  await client.find(FN, { id: later.id });
  await client.overview();
  await later.cancel();
  await last.cancel();
}

/** Everything that an operator can ask. `redis` may do all. */
export async function operate(client: GearMonkeyClient, redis: Redis): Promise<void> {
  const states: boolean[] = [];
  const watching = client.watchPaused(FN).subscribe((paused) => states.push(paused));
  await client.pause(FN);
  await until(() => states.includes(true));
  watching.unsubscribe();
  const waiting = await client.run(FN, 'ok');
  await redis.del(`wake:${FN}`);
  await client.resume(FN);
  await waiting.result();
  const held = await client.run(FN, 'hold');
  await until(async () => (await held.get()).state === 'running');
  await client.runMany(FN, ['ok', 'ok']);
  await client.run(FN, 'ok', { delay: '1d' });
  // An id that is no worker's to run, and not this drain's to end.
  await redis.rpush(`queue:${FN}:normal`, '99999');
  await client.drain(FN);
  for (const by of ['minute', 'hour'] as const) await client.statistics(FN, { by });
  await redis.del(`queue:${FN}:normal`);
  await held.cancel();
  await client.retry(FN, held.id).done;
  await client.cancel(FN, held.id);
  await client.discard(FN, held.id).done;
}

/** What a lost reply brings about, and a queue of another type. `asClient` has the rights of a client. */
export async function enqueueInVain(asClient: Redis, redis: Redis): Promise<void> {
  for (const _ of [1, 2]) await enqueue(asClient, FN, ['"ok"'], { sender: 'again', call: 1 });
  await redis.set(`queue:${FN}:low`, 'no list');
  const refused = enqueue(asClient, FN, ['"ok"'], { sender: 'new', queue: 'low' });
  await refused.catch((error: Error) => error);
  await redis.del(`queue:${FN}:low`);
}

/** What comes up for a worker beside the jobs of our clients. */
export async function bringEverything(redis: Redis): Promise<void> {
  await plainClients(redis);
  await otherWorkers(redis);
  await deadWorkers(redis);
}

async function plainClients(redis: Redis): Promise<void> {
  const statusOf = (id: string) => redis.hget(`job:${FN}:${id}`, 'status');
  const first = await submit(redis, FN, Buffer.from('"ok"'));
  await until(async () => (await statusOf(first)) === 'success');
  await until(async () => (await redis.exists(`plain:${FN}`)) === 1);
}

/** Another leads for a while, and dies. */
async function otherWorkers(redis: Redis): Promise<void> {
  await redis.set(`leader:${FN}`, 'another', 'PX', 3000);
  await until(async () => ![null, 'another'].includes(await redis.get(`leader:${FN}`)));
}

async function deadWorkers(redis: Redis): Promise<void> {
  const lost = [
    { id: '900', queue: 'high', stalls: 0, ends: 'success' },
    { id: '901', queue: 'scheduled', stalls: 0, ends: 'success' },
    { id: '902', queue: 'low', stalls: 1000, ends: 'error' },
  ];
  for (const { id, queue, stalls } of lost) {
    const claim = { status: 'busy', token: 1, attempts: 1, created: 1, input: '"ok"', queue, stalls };
    await redis.hset(`job:${FN}:${id}`, claim);
    await redis.zadd(`lease:${FN}`, 1, `${id}:1`);
  }
  for (const { id, ends } of lost)
    await until(async () => (await redis.hget(`job:${FN}:${id}`, 'status')) === ends);
}
