import { describe, expect, it } from '@jest/globals';
import type { JobStatistics, StatisticsOptions } from '../../lib/job/statistics.js';
import { runWorker, stopWorkers } from '../support/run-worker.js';
import { pass, spanOf, type ClientRig } from './rig.js';

/** Sums over all intervals: the time of a test may span two of them. */
function sumOf(intervals: readonly JobStatistics[]) {
  const sum = (count: (one: JobStatistics) => number) => intervals.reduce((all, one) => all + count(one), 0);
  return {
    done: sum(({ done }) => done),
    failed: sum(({ failed }) => failed),
    retried: sum(({ retried }) => retried),
    stalled: sum(({ stalled }) => stalled),
    waits: sum(({ wait }) => wait.count),
    runs: sum(({ run }) => run.count),
  };
}

/** The part of the client's contract that is about statistics. */
export function statisticsContract(rigOf: () => ClientRig): void {
  describe('statistics', () => {
    it('count jobs, failed attempts, waits and runs, by minute, hour and day', async () => {
      const fn = rigOf().fn();
      const client = rigOf().client();
      await runWorker(rigOf().source(), fn, (input) => {
        if (input === 'fails') throw new Error('no');
        return input;
      });
      const jobs = await client.runMany(fn, ['a', 'b', 'c']);
      jobs.push(await client.run(fn, 'fails', { retry: { attempts: 2, backoff: 'fixed', delay: 1 } }));
      await Promise.allSettled(jobs.map((job) => job.result({ timeout: '60s' })));
      await stopWorkers();
      const expected = { done: 3, failed: 1, retried: 1, stalled: 0, waits: 4, runs: 5 };
      for (const by of ['minute', 'hour', 'day'] as const)
        expect(sumOf(await client.statistics(fn, { by }))).toEqual(expected);
    });

    it('have the time that a job waited after it could have run, and that its handler took', async () => {
      const fn = rigOf().fn();
      const client = rigOf().client();
      const job = await client.run(fn, 'a', { delay: spanOf(rigOf()) });
      const waiting = await client.run(fn, 'b');
      const { times } = await waiting.get();
      await runWorker(rigOf().source(), fn, (input) => input);
      await pass(rigOf(), spanOf(rigOf()));
      const ended = await Promise.all([job, waiting].map((one) => one.result({ timeout: '60s' })));
      expect(ended).toEqual(['a', 'b']);
      await stopWorkers();
      const began = (await waiting.get()).times.started?.getTime() ?? 0;
      const [{ wait, run } = { wait: undefined, run: undefined }] = (
        await client.statistics(fn, { by: 'day' })
      )
        .toReversed()
        .filter(({ done }) => done > 0);
      expect(wait?.count).toBe(2);
      // Both clocks are this machine's; they round.
      const longest = Math.max(...(wait?.classes ?? []).map(({ most }) => most));
      expect(longest).toBeGreaterThanOrEqual(began - (times.created?.getTime() ?? 0) - 2);
      expect(run).toMatchObject({ count: 2, mean: expect.any(Number) });
    });

    it('are all zero for a function without jobs', async () => {
      const intervals = await rigOf().client().statistics(rigOf().fn(), { by: 'minute' });
      expect(intervals.length).toBeGreaterThanOrEqual(60);
      expect(sumOf(intervals)).toEqual({ done: 0, failed: 0, retried: 0, stalled: 0, waits: 0, runs: 0 });
      const { at, wait } = intervals[0] as JobStatistics;
      expect(at.getTime() % 60_000).toBe(0);
      expect(wait).toEqual({ count: 0, mean: 0, classes: [] });
    });

    it.each<[string, StatisticsOptions, string]>([
      ['an unknown interval', { by: 'week' as 'day' }, 'by'],
      ['a time that is no date', { from: new Date('never') }, 'from'],
      ['a number instead of a date', { to: 5 as unknown as Date }, 'to'],
      ['an end before the start', { from: new Date(2000), to: new Date(1000) }, 'from'],
      ['a longer time than is kept', { from: new Date(0) }, 'from'],
    ])('are refused for %s', async (_, options, option) => {
      const read = rigOf().client().statistics(rigOf().fn(), options);
      await expect(read).rejects.toMatchObject({ code: 'INVALID_OPTION', option });
    });

    it('are refused for an option that there is not', async () => {
      const read = rigOf()
        .client()
        .statistics(rigOf().fn(), { since: 1 } as StatisticsOptions);
      await expect(read).rejects.toThrow('statistics has no option `since`');
    });
  });
}
