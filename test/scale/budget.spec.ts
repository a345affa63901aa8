import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as delay } from 'node:timers/promises';
import type { GearMonkeyClient } from '../../lib/gearmonkey/client.js';
import { defineJob, type AnyJobDefinition } from '../../lib/job/job-definition.js';
import type { LimitOptions } from '../../lib/job/limit.js';
import type { JobHandler } from '../../lib/worker/job-handler.js';
import { RedisActors } from '../gearmonkey/redis-rig.js';
import { CommandTrace } from '../support/command-trace.js';
import { runWorker, stopWorkers, stopWorkersAfterEach } from '../support/run-worker.js';
import { eventually } from '../support/until.js';
import { useRedis } from '../support/use-redis.js';
import { judge, readBudgets, writeBudgets, type Budgets } from './budget.js';
import { costOf, type CommandCost } from './command-cost.js';

const RECORDS = process.env.RECORD_BUDGETS !== undefined;
const MAX_ROUNDS = 40;
/** Too long for other jobs to be claimed meanwhile. */
const LONGER_MS = 5;
const INPUT = { to: 'ada@example.com', subject: 'x'.repeat(60) };
const inputs = (count: number) => Array<typeof INPUT>(count).fill(INPUT);

describe('judge', () => {
  const budget = { roundTrips: 1, scriptCalls: 10, bytes: 100 };

  it('needs a budget', () => {
    expect(judge('new', budget, undefined)).toEqual([expect.stringContaining('no budget')]);
  });

  it('accepts costs within the budget', () => {
    expect(judge('one', budget, budget)).toEqual([]);
  });

  it('fails for higher costs, figure by figure', () => {
    expect(judge('one', { ...budget, scriptCalls: 11 }, budget)).toEqual([
      expect.stringMatching(/11 scriptCalls a job, and its budget is 10\. .*heavier/),
    ]);
  });

  it('asks to record much lower costs', () => {
    expect(judge('one', { ...budget, roundTrips: 0.5 }, budget)).toEqual([
      expect.stringMatching(/0\.5 roundTrips .*lighter/),
    ]);
  });
});

describe('the commands of a job', () => {
  const server = useRedis();
  const budgets = readBudgets();
  const recorded: Budgets = {};
  let actors: RedisActors;
  let client: GearMonkeyClient;
  let trace: CommandTrace;
  stopWorkersAfterEach();

  beforeAll(async () => {
    actors = new RedisActors(server.url);
    client = actors.client();
    // Scripts are loaded, and connections open, before anything is counted.
    await runWorker(actors.source(), 'first', async () => 'done');
    await client.call('first', 'x');
    await stopWorkers();
    trace = await CommandTrace.start(server.redis);
  });

  afterAll(() => {
    trace.stop();
    actors.close();
    if (RECORDS) writeBudgets(recorded);
  });

  async function measured(jobs: number, action: () => Promise<unknown>): Promise<CommandCost> {
    await trace.take();
    await action();
    return costOf(await trace.take(), jobs);
  }

  /** In one of its rounds: a machine that is busy with something else spoils some, a heavier path all. */
  async function keepsItsBudget(name: string, round: (fn: string) => Promise<CommandCost>): Promise<void> {
    let complaints: string[] = [];
    for (let rounds = 1; rounds <= MAX_ROUNDS; rounds++) {
      const cost = await round(server.fn());
      if (RECORDS) recordCheapest(name, cost);
      else complaints = judge(name, cost, budgets[name]);
      if (!RECORDS && complaints.length === 0) return;
      await stopWorkers();
    }
    expect(complaints).toEqual([]);
  }

  function recordCheapest(name: string, cost: CommandCost): void {
    if (cost.bytes < (recorded[name]?.bytes ?? Infinity)) recorded[name] = cost;
  }

  it('that is enqueued alone keep their budget', async () => {
    await keepsItsBudget('enqueue one', (fn) =>
      measured(100, async () => {
        for (const input of inputs(100)) await client.run(fn, input);
      }),
    );
  });

  it('that is enqueued with others in a tick keep their budget', async () => {
    await keepsItsBudget('enqueue 100 in a tick', (fn) =>
      measured(1000, async () => {
        for (let tick = 0; tick < 10; tick++)
          await Promise.all(inputs(100).map((input) => client.run(fn, input)));
      }),
    );
  });

  it('that is enqueued in bulk keep their budget', async () => {
    await keepsItsBudget('enqueue in bulk by 1000', (fn) =>
      measured(2000, async () => {
        for (let bulk = 0; bulk < 2; bulk++) await client.runMany(fn, inputs(1000));
      }),
    );
  });

  it('that has a unique key of its own keep their budget', async () => {
    await keepsItsBudget('enqueue one unique', (fn) =>
      measured(100, async () => {
        for (let key = 0; key < 100; key++) await client.run(fn, INPUT, { unique: { key: `${key}` } });
      }),
    );
  });

  it('that is debounced keep their budget', async () => {
    await keepsItsBudget('enqueue one debounced', (fn) =>
      measured(100, async () => {
        for (const input of inputs(100))
          await client.run(fn, input, { unique: { key: 'key', debounce: '1h' } });
      }),
    );
  });

  async function ran(
    definition: AnyJobDefinition,
    jobs: number,
    concurrency: number,
    handle: JobHandler,
  ): Promise<CommandCost> {
    await client.runMany(definition, inputs(jobs));
    const { name: fn } = definition;
    return measured(jobs, async () => {
      await runWorker(actors.source(), definition, handle, { concurrency });
      const left = [`queue:${fn}:normal`, `limit:${fn}:wait:normal:${INPUT.to}`, `lease:${fn}`];
      await eventually(async () => expect(await server.redis.exists(...left)).toBe(0), { timeout: 20_000 });
    });
  }

  it.each([1, 10, 100])('that is short and run, %d at a time, keep their budget', async (concurrency) => {
    const jobs = concurrency === 1 ? 500 : 2000;
    await keepsItsBudget(`process short jobs, ${concurrency} at a time`, (fn) =>
      ran(defineJob(fn), jobs, concurrency, async (input) => input),
    );
  });

  it('that is not short and run alone keep their budget', async () => {
    await keepsItsBudget('process longer jobs, 1 at a time', (fn) =>
      ran(defineJob(fn), 100, 1, () => delay(LONGER_MS)),
    );
  });

  const LIMITS: Record<string, LimitOptions<typeof INPUT>> = {
    fair: { concurrency: 10 },
    rate: { rate: { max: 1000, per: 1000 } },
    strict: { order: 'strict' },
  };
  const withLimit = (fn: string, limit: LimitOptions<typeof INPUT> = {}) =>
    defineJob<typeof INPUT>(fn, { limit: { key: ({ to }) => to, ...limit } });

  it.each(Object.entries(LIMITS))('that have a limit (%s) keep their budget', async (kind, limit) => {
    await keepsItsBudget(`enqueue one with a limit, ${kind}`, async (fn) => {
      const definition = withLimit(fn, limit);
      return measured(100, async () => {
        for (const input of inputs(100)) await client.run(definition, input);
      });
    });
    await keepsItsBudget(`process longer jobs with a limit, ${kind}`, (fn) =>
      ran(withLimit(fn, limit), 100, 1, () => delay(LONGER_MS)),
    );
  });

  it('that is called keep their budget', async () => {
    await keepsItsBudget('call, one at a time', async (fn) => {
      await runWorker(actors.source(), fn, async (input) => input);
      await client.call(fn, INPUT);
      return measured(100, async () => {
        for (const input of inputs(100)) await client.call(fn, input);
      });
    });
  });
});
