/**
 * A program of its own, for its heap and its Promises: what plain jobs cost in Node, through the module. It has nothing else
 * to do, and its jobs are as many each time, so that the figures are nearly the same on any machine, however busy.
 */
import 'reflect-metadata';
import { createHook } from 'node:async_hooks';
import { Session } from 'node:inspector/promises';
import { setImmediate as turn } from 'node:timers/promises';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Redis } from 'ioredis';
import { GearMonkeyClient } from '../../lib/gearmonkey/client.js';
import { GearMonkeyModule } from '../../lib/nest/gearmonkey.module.js';
import { Worker } from '../../lib/nest/worker.decorator.js';
import { CASES, isWithin, type Case, type NodeCost, type NodeFigures } from './node-cost.js';

const INPUT = { to: 'ada@example.com', subject: 'x'.repeat(60) };
/** Code that is not compiled yet allocates more. */
const WARM_UP_ROUNDS = 2;
/** The cheapest counts, and one within the budget is enough: how many jobs share a call depends on the machine. */
const ROUNDS = 6;
const REACH_ROUNDS = 10;
const AT_ONCE = 100;
const IN_BULK = 1000;
/** In bytes: each is an average distance between two samples. */
const SAMPLED = 2048;

const { url, budget } = JSON.parse(process.argv[2] as string) as {
  readonly url: string;
  /** Without one, all rounds are run. */
  readonly budget?: NodeFigures;
};

/** Counts handlers' runs, and says when there were so many. */
class Runs {
  private left = 0;
  private ended: () => void = () => undefined;

  expect(count: number): Promise<void> {
    this.left = count;
    return new Promise((resolve) => (this.ended = resolve));
  }

  add(): void {
    this.left -= 1;
    if (this.left === 0) this.ended();
  }
}

const runs = new Runs();

@Injectable()
class Handlers {
  @Worker('one')
  one(input: unknown): unknown {
    runs.add();
    return input;
  }

  @Worker('hundred', { concurrency: AT_ONCE })
  hundred(input: unknown): unknown {
    runs.add();
    return input;
  }
}

@Module({ imports: [GearMonkeyModule.forRoot({ connection: url })], providers: [Handlers] })
class App {}

const say = (event: string, details: object = {}) =>
  process.stdout.write(`${JSON.stringify({ event, ...details })}\n`);

say('ready');
const app = await NestFactory.createApplicationContext(App, { logger: ['error'] });
const client = app.get(GearMonkeyClient);
const session = new Session();
session.connect();

const inputs = (count: number) => Array.from({ length: count }, () => INPUT);

/** What is measured of each case; `before` is not. */
interface Action {
  before?(jobs: number): Promise<void>;
  run(jobs: number): Promise<unknown>;
}

async function inBulk(fn: string, jobs: number): Promise<void> {
  for (let sent = 0; sent < jobs; sent += IN_BULK)
    await client.runMany(fn, inputs(Math.min(IN_BULK, jobs - sent)));
}

function running(fn: string): Action {
  return {
    async before(jobs) {
      await client.pause(fn);
      await inBulk(fn, jobs);
    },
    async run(jobs) {
      const ended = runs.expect(jobs);
      await client.resume(fn);
      await ended;
    },
  };
}

const ACTIONS: Record<Case, Action> = {
  'enqueue, one at a time': {
    async run(jobs) {
      for (const input of inputs(jobs)) await client.run('enqueued', input);
    },
  },
  'enqueue, 100 at a time': {
    async run(jobs) {
      for (let sent = 0; sent < jobs; sent += AT_ONCE)
        await Promise.all(inputs(AT_ONCE).map((input) => client.run('enqueued', input)));
    },
  },
  'enqueue in bulk by 1000': { run: (jobs) => inBulk('enqueued', jobs) },
  'call, one at a time': {
    async run(jobs) {
      for (const input of inputs(jobs)) await client.call('one', input);
    },
  },
  'run, one at a time': running('one'),
  'run, 100 at a time': running('hundred'),
};

async function measured(
  { before, run }: Action,
  jobs: number,
  count: (run: () => Promise<unknown>) => Promise<number>,
): Promise<number> {
  await before?.(jobs);
  const total = await count(() => run(jobs));
  for (let turns = 0; turns < 100; turns++) await turn();
  return total / jobs;
}

async function countPromises(run: () => Promise<unknown>): Promise<number> {
  let promises = 0;
  const hook = createHook({
    init: (_id, type) => {
      if (type === 'PROMISE') promises += 1;
    },
  }).enable();
  await run();
  hook.disable();
  return promises;
}

async function countBytes(run: () => Promise<unknown>): Promise<number> {
  await session.post('HeapProfiler.startSampling', {
    samplingInterval: SAMPLED,
    includeObjectsCollectedByMajorGC: true,
    includeObjectsCollectedByMinorGC: true,
  });
  await run();
  const { profile } = await session.post('HeapProfiler.stopSampling');
  const sizes = [profile.head];
  let bytes = 0;
  for (const { selfSize, children } of sizes) {
    bytes += selfSize;
    sizes.push(...children);
  }
  return bytes;
}

/** The functions of this package that run each time, and not only since something else happened meanwhile. */
async function reachOf(
  run: () => Promise<unknown>,
): Promise<NodeFigures['reach'][keyof NodeFigures['reach']]> {
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  const called = async () => {
    await session.post('Profiler.takePreciseCoverage');
    await run();
    const { result } = await session.post('Profiler.takePreciseCoverage');
    return new Map(
      result
        .filter(({ url }) => url.includes('/lib/'))
        .flatMap(({ url, functions }) =>
          functions
            .filter(({ functionName, ranges }) => functionName !== '' && (ranges[0]?.count ?? 0) > 0)
            .map(({ functionName, ranges }) => [`${url} ${functionName} ${ranges[0]?.startOffset}`, url]),
        ),
    );
  };
  let always = await called();
  for (let runs = 1; runs < REACH_ROUNDS; runs++) {
    const again = await called();
    always = new Map([...always].filter(([name]) => again.has(name)));
  }
  return { functions: always.size, files: new Set(always.values()).size };
}

const cases: Partial<Record<Case, NodeCost>> = {};
async function cheapest(name: Case, figure: keyof NodeCost, measure: () => Promise<number>): Promise<number> {
  const most = budget?.cases[name]?.[figure];
  let least = Infinity;
  for (let round = 0; round < ROUNDS; round++) {
    least = Math.min(least, await measure());
    if (most !== undefined && isWithin(figure, least, most)) break;
  }
  return least;
}
for (const [name, { jobs }] of Object.entries(CASES) as [Case, { jobs: number }][]) {
  const action = ACTIONS[name];
  for (let round = 0; round < WARM_UP_ROUNDS; round++)
    await measured(action, jobs, async (run) => (await run(), 0));
  const bytes = await cheapest(name, 'bytes', () => measured(action, jobs, countBytes));
  const promises = await cheapest(name, 'promises', () => measured(action, jobs, countPromises));
  cases[name] = { promises, bytes };
}
// The end of a job in its worker may come behind its result, but comes before that of the next one.
const twice = (once: () => Promise<unknown>) => async () => {
  await once();
  await once();
};
const redis = new Redis(url);
const reach: NodeFigures['reach'] = {
  run: await reachOf(
    // Until its outcome is written: what it passes depends on what else is under way.
    twice(async () => {
      const { id } = await client.run('one', INPUT);
      while ((await redis.hexists(`job:one:${id}`, 'settled')) === 0) await turn();
    }),
  ),
  call: await reachOf(twice(() => client.call('one', INPUT))),
};
say('figures', { cases, reach });
redis.disconnect();
await app.close();
session.disconnect();
