/** A program of its own, for its heap: very many observers of jobs, of one kind after the other. */
import type { Observable, Subscription } from 'rxjs';
import { RedisActors } from '../gearmonkey/redis-rig.js';
import { until } from '../support/until.js';
import { Redis } from 'ioredis';

export type ObserverKind = 'watch' | 'progress' | 'events';

export interface ObserverFigures {
  readonly kind: ObserverKind;
  readonly bytesEach: number;
  /** Messages that reached observers when one job was updated once. */
  readonly delivered: number;
  /** Bytes of heap that were left of each when all had gone. */
  readonly bytesLeft: number;
}

const { url, observers } = JSON.parse(process.argv[2] as string) as {
  readonly url: string;
  /** How many of each kind. */
  readonly observers: Record<ObserverKind, number>;
};
const fn = 'observed';
const actors = new RedisActors(url);
const redis = new Redis(url);
// A program of the tests may be slow for as long as others are busy.
const client = actors.client({}, 60_000);
const handles = await client.runMany(fn, Array<string>(Math.max(...Object.values(observers))).fill('x'));
const ids = handles.splice(0).map(({ id }) => id);

const say = (event: string, details: object = {}) =>
  process.stdout.write(`${JSON.stringify({ event, ...details })}\n`);

let delivered = 0;
const subscribed: Record<ObserverKind, (id: string) => Observable<unknown>> = {
  watch: (id) => client.watch(fn, id),
  progress: (id) => client.progress(fn, id),
  events: () => client.events(fn),
};

async function measure(kind: ObserverKind, count: number): Promise<ObserverFigures> {
  const before = heap();
  const readBefore = await reads();
  const all: Subscription[] = [];
  const next = () => (delivered += 1);
  delivered = 0;
  for (const id of ids.slice(0, count)) all.push(subscribed[kind](id).subscribe(next));
  await until(async () => (await subscriptions()) === 1);
  // Who observes a job reads it first.
  const expected = kind === 'events' ? 0 : count;
  await until(async () => (await reads()) - readBefore >= expected, { timeout: 60_000 });
  // On a busy machine some reads are repeated: then there were enough of them before the last job was read.
  await until(() => kind !== 'watch' || delivered >= count, { timeout: 60_000 });
  await client.rollCall(fn).catch(() => undefined);
  await quiet();
  const bytesEach = (heap() - before) / count;
  const reached = await announce(kind, ids[0] as string);
  for (const subscription of all.splice(0)) subscription.unsubscribe();
  await until(async () => (await subscriptions()) === 0);
  return { kind, bytesEach, delivered: reached, bytesLeft: (heap() - before) / count };
}

async function announce(kind: ObserverKind, id: string): Promise<number> {
  delivered = 0;
  const mark = Number(await redis.hget(`job:${fn}:${id}`, 'mark'));
  if (kind === 'progress') await redis.publish(`progress:${fn}`, `${id}:${mark + 1}:1/2`);
  else await redis.publish(`channel:${fn}`, `start:${id}`);
  await until(() => delivered > 0);
  // Whatever else the message made has come by the next answer.
  await client.get(fn, id);
  return delivered;
}

/** On a busy machine a line counts as dead, and all jobs are read again: waits until nothing is read. */
async function quiet(): Promise<void> {
  let last = '';
  const isQuiet = async () => {
    const seen = `${await reads()} ${delivered}`;
    const same = seen === last;
    last = seen;
    return same;
  };
  await until(isQuiet, { interval: 300, timeout: 60_000 });
}

const subscriptions = async () => Number((await redis.pubsub('NUMSUB', `channel:${fn}`))[1]);

/** Jobs that were read since the server started. */
async function reads(): Promise<number> {
  return Number(/cmdstat_hgetall:calls=(\d+)/.exec(await redis.info('commandstats'))?.[1] ?? 0);
}

function heap(): number {
  globalThis.gc?.();
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}

say('ready');
for (const [kind, count] of Object.entries(observers))
  say('figures', await measure(kind as ObserverKind, count));
actors.close();
redis.disconnect();
say('done');
