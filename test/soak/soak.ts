/**
 * Hours of the same, to see whether anything grows: `npm run check -- soak --minutes 10`.
 *
 * A private server, two worker processes and one that enqueues, cancels and watches. Ends with 1 when memory,
 * open resources or keys grow beyond their bounds, or when not all jobs have ended.
 */
import { Redis } from 'ioredis';
import { parseArgs } from 'node:util';
import { setTimeout as delay } from 'node:timers/promises';
import { RedisServer } from '../support/redis-server.js';
import { judge, table, type Bound, type Series } from './series.js';
import { SoakProcess, type ProcessFigures } from './soak-process.js';
import { remains } from './remains.js';

const SAMPLES = 60;
const LEAST_INTERVAL_MS = 1000;
const MEGABYTE = 2 ** 20;

const BOUNDS: Record<string, Bound> = {
  rss: { part: 0.1, amount: 10 },
  heap: { part: 0.05, amount: 2 },
  resources: { part: 0.1, amount: 2 },
  keys: { part: 0.1, amount: 50 },
  'Redis memory': { part: 0.05, amount: 1 },
  'Redis clients': { part: 0, amount: 0 },
  'Redis channels': { part: 0, amount: 0 },
};

interface Counts {
  readonly enqueued: number;
  readonly finished: number;
  readonly problems: readonly string[];
}

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '10' } } });
const minutes = Number(values.minutes);
if (!(minutes > 0)) throw new Error(`Expected --minutes to be a number above 0, got ${values.minutes}.`);

const series = new Map<string, Series & { bound: Bound }>();

function add(kind: string, who: string, unit: string, value: number): void {
  const name = who === '' ? kind : `${who} ${kind}`;
  const bound = BOUNDS[kind] ?? { part: 0, amount: 0 };
  if (!series.has(name)) series.set(name, { name, unit, values: [], bound });
  series.get(name)?.values.push(value);
}

async function sample(redis: Redis, processes: readonly SoakProcess[]): Promise<void> {
  for (const child of processes) {
    const { rss, heap, resources } = await child.does<ProcessFigures>('sample');
    add('rss', child.name, 'MB', rss / MEGABYTE);
    add('heap', child.name, 'MB', heap / MEGABYTE);
    add('resources', child.name, '', resources);
  }
  add('keys', '', '', await redis.dbsize());
  const info = await redis.info();
  add('Redis memory', '', 'MB', field(info, 'used_memory') / MEGABYTE);
  add('Redis clients', '', '', field(info, 'connected_clients'));
  add('Redis channels', '', '', field(info, 'pubsub_channels'));
}

function field(info: string, name: string): number {
  return Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1]);
}

const server = await RedisServer.start();
const redis = new Redis(server.url);
const processes: SoakProcess[] = [];
try {
  for (const name of ['worker 1', 'worker 2']) {
    processes.push(await SoakProcess.start(name, './worker.ts', server.url));
  }
  const driver = await SoakProcess.start('client', './driver.ts', server.url);
  processes.push(driver);
  await driver.does('load');

  const end = performance.now() + minutes * 60_000;
  const interval = Math.max(LEAST_INTERVAL_MS, (minutes * 60_000) / SAMPLES);
  while (performance.now() < end) {
    await delay(interval);
    await sample(redis, processes);
  }

  const { problems, ...counts } = await driver.close<Counts>();
  for (const child of processes.filter((child) => child !== driver)) await child.close();
  const left = await remains(redis);
  const verdicts = [...series.values()].map((each) => judge(each, each.bound));
  const faults = [
    ...problems,
    ...left,
    ...(counts.finished === counts.enqueued ? [] : [`${counts.enqueued - counts.finished} jobs did not end`]),
    ...verdicts.filter(({ holds }) => !holds).map(({ name }) => `${name} grows`),
  ];
  console.log(table(verdicts));
  console.log(
    Object.entries(counts)
      .map(([what, count]) => `${what} ${count}`)
      .join(', '),
  );
  console.log(faults.length === 0 ? `Nothing grew in ${minutes} minutes.` : `FAILED: ${faults.join('; ')}`);
  process.exitCode = faults.length === 0 ? 0 : 1;
} finally {
  for (const child of processes) child.kill();
  redis.disconnect();
  await server.stop();
}
