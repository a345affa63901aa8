import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { NOW, claim } from '../gearmonkey/scripts/scripts.js';
import { CommandTrace } from '../support/command-trace.js';
import { useRedis } from '../support/use-redis.js';
import { costOf, type CommandCost } from './command-cost.js';

const FEW = 100;
const MANY = 100_000;
const CLAIMED = 10;
const CHUNK = 10_000;

describe('a claim', () => {
  const server = useRedis();
  let trace: CommandTrace;

  beforeAll(async () => {
    trace = await CommandTrace.start(server.redis);
    // So that the server knows the script.
    await claim(server.redis, 'none');
  });

  afterAll(() => trace.stop());

  /** Ids in a queue; jobs only those that will be claimed. */
  async function waiting(jobs: number, queue: 'low' | 'scheduled'): Promise<string> {
    const fn = server.fn();
    const key = `queue:${fn}:${queue}`;
    for (let from = 1; from <= jobs; from += CHUNK) {
      const ids = Array.from({ length: Math.min(CHUNK, jobs - from + 1) }, (_, index) => from + index);
      if (queue === 'low') await server.redis.lpush(key, ...ids);
      else await server.redis.zadd(key, ...ids.flatMap((id) => [id / jobs, id]));
    }
    for (let id = 1; id <= CLAIMED; id++) await server.redis.hset(`job:${fn}:${id}`, 'status', 'idle');
    return fn;
  }

  async function claimed(fn: string): Promise<CommandCost> {
    await trace.take();
    const { claims } = await claim(server.redis, fn, { now: NOW, slots: CLAIMED });
    expect(claims).toHaveLength(CLAIMED);
    return costOf(await trace.take(), CLAIMED);
  }

  it.each(['low', 'scheduled'] as const)(
    `asks as much of the server with ${MANY} jobs in %s as with ${FEW}`,
    async (queue) => {
      const [few, many] = [await waiting(FEW, queue), await waiting(MANY, queue)];
      expect((await claimed(many)).scriptCalls).toBe((await claimed(few)).scriptCalls);
    },
  );
});
