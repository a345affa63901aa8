import { afterEach, describe, expect, it } from '@jest/globals';
import { HOSTILE_HANDLERS } from '../support/hostile-handlers.js';
import { SECRET } from '../support/hostile-values.js';
import { runWorker, stopWorkers } from '../support/run-worker.js';
import { until } from '../support/until.js';
import { workersLook, type SourceRig, type StoredState } from './rig.js';

/** Each so many hostile handlers, one that does its work. */
const EVERY = 8;
const CONCURRENCY = 10;
/** What a message and a stack take at most, of characters that are wide. */
const MOST_BYTES = 80_000;
const GOOD = 'good';

/** The part of the contract that is about handlers which throw, return and are what no handler should. */
export function hostileContract(rigOf: () => SourceRig): void {
  const isFinal = ({ status }: StoredState) => status === 'success' || status === 'error';

  /** The states of jobs once all have ended. */
  async function endsOf(fn: string, ids: readonly string[]): Promise<StoredState[]> {
    const ends = new Map<string, StoredState>();
    await workersLook(rigOf());
    await until(
      async () => {
        for (const id of ids.filter((left) => !ends.has(left))) {
          const state = await rigOf().stored(fn, id);
          if (!isFinal(state)) return false;
          ends.set(id, state);
        }
        return true;
      },
      { interval: 50, timeout: 100_000, message: `Not every job of "${fn}" has ended` },
    );
    return ids.map((id) => ends.get(id) as StoredState);
  }

  describe('a handler that throws or returns any value', () => {
    afterEach(stopWorkers);

    it('ends only its own job with an outcome', async () => {
      const fn = rigOf().fn();
      const inputs = HOSTILE_HANDLERS.flatMap((_, index) =>
        index % EVERY === 0 ? [String(index), JSON.stringify(GOOD)] : [String(index)],
      );
      const { said } = await runWorker(
        rigOf().source(),
        fn,
        (input, job) => (input === GOOD ? GOOD : HOSTILE_HANDLERS[Number(input)]?.[1](input, job)),
        // Where senders ask for retries, once is enough.
        { concurrency: CONCURRENCY, jobLimits: { attempts: 1 } },
      );
      const ids = await Promise.all(inputs.map((input) => rigOf().submit(fn, input)));
      const ends = await endsOf(fn, ids);
      for (const [index, input] of inputs.entries()) {
        const { status, output = '' } = ends[index] as StoredState;
        const what = HOSTILE_HANDLERS[Number(input)]?.[0] ?? GOOD;
        if (what === GOOD) expect(ends[index]).toMatchObject({ status: 'success', output: '"good"' });
        if (what.startsWith('throws')) expect([what, status]).toEqual([what, 'error']);
        if (status !== 'error') continue;
        expect(Buffer.byteLength(output)).toBeLessThan(MOST_BYTES);
        expect(output).not.toContain(SECRET);
      }
      const [last] = await endsOf(fn, [await rigOf().submit(fn, JSON.stringify(GOOD))]);
      expect(last).toMatchObject({ status: 'success', output: '"good"' });
      expect(said.filter((line) => /^The outcome of|went to another|again/.test(line))).toEqual([]);
    }, 120_000);
  });
}
