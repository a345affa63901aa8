import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { readFileSync, writeFileSync } from 'node:fs';
import { claim, enqueue } from '../gearmonkey/scripts/scripts.js';
import { CountedServer, hasCallgrind } from '../support/callgrind.js';

const BUDGET = new URL('server-budget.json', import.meta.url);
const SLACK = 0.03;
const IN_A_CALL = 50;
const INPUT = JSON.stringify({ to: 'ada@example.com', subject: 'x'.repeat(60) });
const OUTPUT = JSON.stringify(INPUT);
const LEASE_MS = 30_000;
const MARK = 7_000_000;

type Figures = Record<string, number>;

/** Nothing here goes by the time: each call has as many jobs, and the server is told what time it is. */
interface Case {
  /** In one call. */
  readonly jobs: number;
  readonly calls: number;
  readonly enqueues?: true;
}

const CASES: Record<string, Case> = {
  'enqueue alone': { jobs: 1, calls: 100, enqueues: true },
  'enqueue in calls of 50': { jobs: IN_A_CALL, calls: 48, enqueues: true },
  'run alone': { jobs: 1, calls: 100 },
  'run in calls of 50': { jobs: IN_A_CALL, calls: 12 },
};

(((await hasCallgrind()) ? describe : describe.skip) as typeof describe)(
  'what a plain job costs the server',
  () => {
    let counted: CountedServer;
    let redis: Redis;
    beforeAll(async () => {
      counted = await CountedServer.start();
      redis = new Redis(counted.server.url);
    });
    afterAll(async () => {
      redis.disconnect();
      await counted.stop();
    });

    const fill = (fn: string, jobs: number) =>
      enqueue(
        redis,
        fn,
        Array.from({ length: jobs }, () => INPUT),
        { mark: MARK },
      );

    /** Each call settles the jobs of the one before and claims the next, as a busy worker does. */
    async function drain(fn: string, { jobs, calls }: Case): Promise<void> {
      let outcomes: string[] = [];
      for (let made = 0; made <= calls; made++) {
        const { claims } = await claim(redis, fn, { slots: jobs, outcomes, recover: 0, lease: LEASE_MS });
        outcomes = claims.flatMap(({ id, token }) => [`${id}:${token}`, 'success', OUTPUT, '']);
      }
      expect(outcomes).toEqual([]);
    }

    async function measure(name: string): Promise<number> {
      const each = CASES[name] as Case;
      const { jobs, calls, enqueues } = each;
      const fn = name.replaceAll(' ', '-');
      const fills = async () => {
        for (let made = 0; made < calls; made++) await fill(fn, jobs);
      };
      // The server learns the scripts before.
      await fills();
      await drain(fn, each);
      if (!enqueues) await fills();
      const total = await counted.instructions(enqueues ? fills : () => drain(fn, each));
      return Math.round(total / (calls * jobs));
    }

    it('keeps its budget of instructions', async () => {
      const figures: Figures = {};
      for (const name of Object.keys(CASES)) figures[name] = await measure(name);
      if (process.env.RECORD_BUDGETS !== undefined)
        return writeFileSync(BUDGET, `${JSON.stringify(figures, null, 2)}\n`);
      const budget = JSON.parse(readFileSync(BUDGET, 'utf8')) as Figures;
      const wrong = Object.entries(figures).filter(([name, is]) => {
        const was = budget[name] ?? 0;
        return is > was * (1 + SLACK) || is < was * (1 - 2 * SLACK);
      });
      expect(
        wrong.map(([name, is]) => `${name}: ${is} instructions, and the budget is ${budget[name]}`),
      ).toEqual([]);
    });
  },
);
