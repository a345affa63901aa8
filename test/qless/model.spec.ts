import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { callOf, leaveOver } from './model/calls.js';
import { CoreModel, Refused } from './model/core-model.js';
import { expectedKeys, keysOf } from './model/keys.js';
import { scenario, type Scenario, type Step } from './model/steps.js';
import { useQless } from './qless-rig.js';

/** Always the same scenarios, so that a failure is one of the change at hand. */
const SEEDS = [14, 1234, 20_261_122];
const RUNS = 30;
/** `QLESS_FUZZ=2000` runs as many others, from a seed of its own that a failure names. */
const MORE_RUNS = Number(process.env['QLESS_FUZZ'] ?? 0);
const HEARTBEAT_SECONDS = 60;
const MOST_CONCURRENT = 2;

describe('the core', () => {
  const qless = useQless();

  const take = async (model: CoreModel, now: number, step: Step) => {
    const { command, args, expected, read = (reply) => reply } = callOf(model, now, step);
    const reply = qless.q(command, now, ...args);
    try {
      const meant = expected();
      expect(read(await reply)).toEqual(meant);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      await expect(reply).rejects.toThrow('user_script');
    }
  };

  /** As a call with very many jids would. */
  const leave = async (set: string, jids: readonly string[]) => {
    if (jids.length === 0) return;
    await qless.redis.sadd(`ql:${set}`, ...jids);
    if (set === 'stalling') await qless.redis.set('ql:stalling:since', 0);
  };

  const check = (parameters: fc.Parameters<[Scenario]>) =>
    fc.assert(
      fc.asyncProperty(scenario, async (steps) => {
        await qless.redis.flushall();
        await qless.q('config.set', 0, 'n-max-concurrency', MOST_CONCURRENT);
        const model = new CoreModel(HEARTBEAT_SECONDS, new Map([['n', MOST_CONCURRENT]]));
        let now = 1000;
        for (const { pause, late, step } of steps) {
          now += pause;
          if (late) await leave(late.set, leaveOver(model, late));
          await take(model, now, step);
          expect(await keysOf(qless.redis)).toEqual(expectedKeys(model));
          await expect(qless.json('consistency.check', now)).resolves.toMatchObject({ problems: {} });
        }
      }),
      parameters,
    );

  it.each(SEEDS)('does what the model does, and is consistent after every call (seed %d)', async (seed) => {
    await check({ seed, numRuns: RUNS });
  });

  (MORE_RUNS > 0 ? it : it.skip)(
    `does so in ${MORE_RUNS} scenarios more`,
    async () => {
      await check({ numRuns: MORE_RUNS });
    },
    MORE_RUNS * 5000,
  );
});
