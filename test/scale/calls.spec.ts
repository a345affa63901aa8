import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { RedisActors } from '../gearmonkey/redis-rig.js';
import { SlowLine } from '../support/slow-line.js';
import { eventually, until } from '../support/until.js';
import { useRedis } from '../support/use-redis.js';
import { Program, stopProgramsAfterEach } from '../support/worker-process.js';
import { inFullTier } from '../support/tier.js';

const CALLS = 5000;
const OUTPUT = 'of the program';
const TEST_MS = 180_000;
/** A machine that others keep busy may take long. */
const PATIENCE_MS = 120_000;

describe('Thousands of concurrent calls to a worker in another process', () => {
  const server = useRedis();
  let actors: RedisActors;
  stopProgramsAfterEach();

  beforeAll(() => {
    actors = new RedisActors(server.url);
  });
  afterAll(() => actors.close());

  const worker = (fn: string) =>
    Program.start('test/gearmonkey/worker-program.ts', { url: server.url, fn, concurrency: 100 });

  it(
    `all return, ${CALLS} in a burst, and leave nothing behind`,
    async () => {
      const fn = server.fn();
      await worker(fn);
      const client = actors.client({}, PATIENCE_MS);
      await client.call(fn, {});
      const calls = Array.from({ length: CALLS }, () => client.call(fn, {}));
      const outcomes = await Promise.allSettled(calls);
      expect(outcomes.filter(({ status }) => status === 'rejected').slice(0, 3)).toEqual([]);
      expect(await server.redis.get(`uid:${fn}`)).toBe(`${CALLS + 1}`);
      const nobody = async () => Number((await server.redis.pubsub('NUMSUB', `channel:${fn}`))[1]) === 0;
      await until(nobody, { message: 'The feed is still open' });
    },
    TEST_MS,
  );

  inFullTier(() => {
    it(
      'all return although connections break every 0.3 s and replies come 30 ms late',
      async () => {
        const [CUTS, AT_ONCE, CUT_MS] = [25, 100, 300];
        const fn = server.fn();
        await worker(fn);
        const line = await SlowLine.start(server.port, { latency: 30 });
        const distant = new RedisActors(line.url);
        const client = distant.client({}, PATIENCE_MS);
        await client.call(fn, {});
        let [cuts, returned, underWay] = [0, 0, 0];
        const outcomes = new Map<unknown, number>();
        const caller = async () => {
          while (cuts < CUTS) {
            underWay += 1;
            const outcome = await client.call(fn, {}).catch((error: unknown) => error);
            underWay -= 1;
            returned += 1;
            outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
          }
        };
        const timer = setInterval(() => {
          cuts += 1;
          if (cuts === CUTS) clearInterval(timer);
          line.cut();
        }, CUT_MS);
        const callers = Array.from({ length: AT_ONCE }, caller);
        await eventually(() => expect(cuts).toBe(CUTS));
        await until(() => underWay === 0, {
          timeout: PATIENCE_MS,
          message: 'Calls hang',
        }).catch((error: unknown) => {
          throw new Error(`${underWay} calls hang, ${returned} returned`, { cause: error });
        });
        await Promise.all(callers);
        expect([...outcomes.keys()]).toEqual([OUTPUT]);
        distant.close();
        await line.stop();
      },
      TEST_MS,
    );
  });
});
