/** The soak's load, on the server of its argument: the same mixture of jobs in each round. */
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Redis } from 'ioredis';
import { GearMonkeyClient, GearMonkeyModule, type JobHandle } from '../../lib/index.js';
import { until } from '../support/until.js';
import { obey } from './soak-process.js';
import { ROUND_TICKS, soak, TICK_JOBS, type Kind } from './soak.job.js';

const TICK_MS = 50;
/** Finished jobs live for 25 hours: here they go, so that growth of anything else shows. */
const KEEP_SECONDS = 3;
const DRAIN_MS = 120_000;

const url = process.argv[2] as string;

@Module({ imports: [GearMonkeyModule.forRoot({ connection: url })] })
class App {}

const app = await NestFactory.createApplicationContext(App, { logger: false });
const client = app.get(GearMonkeyClient);
const redis = new Redis(url);
const counts = { enqueued: 0, finished: 0, cancelled: 0, watched: 0, called: 0, problems: [] as string[] };
const underWay = new Set<Promise<unknown>>();

client.events(soak).subscribe(({ type, id }) => {
  if (type !== 'finish') return;
  counts.finished += 1;
  redis.expire(`job:soak:${id}`, KEEP_SECONDS).catch(problem);
});

const input = (kind: Kind) => ({ kind, text: 'x'.repeat(100) });

function problem(error: unknown): void {
  if (counts.problems.length < 10) counts.problems.push(String(error));
}

/** Remembers it until it has ended. */
function track(work: Promise<unknown>): void {
  const tracked = work.catch(problem).finally(() => underWay.delete(tracked));
  underWay.add(tracked);
}

async function watch(job: JobHandle<typeof soak>): Promise<void> {
  await Promise.all([
    new Promise<void>((complete, error) => client.watch(soak, job.id).subscribe({ complete, error })),
    new Promise<void>((complete, error) => job.progress$.subscribe({ complete, error })),
  ]);
  counts.watched += 1;
}

async function cancelOnceStarted(job: JobHandle<typeof soak>): Promise<void> {
  await until(async () => (await job.get()).state !== 'waiting');
  if (await job.cancel()) counts.cancelled += 1;
}

async function tick(): Promise<void> {
  await client.runMany(
    soak,
    Array.from({ length: 6 }, () => input('plain')),
  );
  track(client.call(soak, input('plain')).then(() => (counts.called += 1)));
  track(watch(await client.run(soak, input('steps'))));
  track(cancelOnceStarted(await client.run(soak, input('waits'), { jobTimeout: '1h' })));
  await client.run(soak, input('flaky'), { priority: 'high' });
  await client.run(soak, input('hangs'), { retry: { attempts: 1 }, priority: 'low' });
  await client.run(soak, input('plain'), { delay: '1s' });
  counts.enqueued += TICK_JOBS;
}

/** Resolves when all jobs have finished and no call waits. */
async function drained(): Promise<void> {
  await until(() => underWay.size === 0 && counts.finished >= counts.enqueued, {
    timeout: DRAIN_MS,
    message: 'Jobs are left',
    seen: () => ({ underWay: underWay.size, ...counts }),
  });
}

let timer: NodeJS.Timeout | undefined;

/** A tick that takes longer than its time is waited for: a slow machine gets less load, not a growing queue. */
function load(): object {
  timer = setInterval(() => {
    if (underWay.size < 200) track(tick());
  }, TICK_MS);
  return counts;
}

/** As much work as every round, from its first job to its last. */
async function round(): Promise<object> {
  await Promise.all(Array.from({ length: ROUND_TICKS }, tick));
  await drained();
  return counts;
}

async function close(): Promise<object> {
  clearInterval(timer);
  await drained().catch(problem);
  await app.close();
  redis.disconnect();
  return counts;
}

obey(close, { load, round });
