import type { StatisticsWriter } from '../../../lib/gearmonkey/features/statistics/statistics-writer.js';
import { describe, expect, it } from '@jest/globals';
import type { JobStatistics } from '../../../lib/job/statistics.js';
import type { Claim } from '../../../lib/job/job-source.js';
import { claimUpTo, failure, released, retry, success } from '../../contract/claiming.js';
import { useGearMonkey } from '../use-gearmonkey.js';

describe('The statistics of a function', () => {
  const rig = useGearMonkey();

  /** Sums over all intervals: the time of a test may span two of them. */
  async function sumOf(fn: string, by: 'minute' | 'hour') {
    const intervals = await rig.client.statistics(fn, { by });
    const sum = (of: (one: JobStatistics) => number) => intervals.reduce((all, one) => all + of(one), 0);
    return [sum(({ done }) => done), sum(({ failed }) => failed), sum(({ retried }) => retried)];
  }

  it('have what workers did until they closed, once, and no outcome that was refused', async () => {
    const fn = rig.fn();
    const source = rig.source();
    await source.open([fn]);
    await rig.client.runMany(fn, [1, 2, 3, 4, 5]);
    const claims: Claim[] = [];
    while (claims.length < 5) claims.push(...(await claimUpTo(source, fn, 5 - claims.length)));
    const [one, two, three, four, five] = claims as [Claim, Claim, Claim, Claim, Claim];
    await rig.client.cancel(fn, five.id);
    const outcomes = [success(one), success(two), failure(three, 'no'), retry(four, 3_600_000)];
    await expect(source.settle([...outcomes, success(five)])).resolves.toEqual([five]);
    await (source['features'].counting as StatisticsWriter)['write']();
    await expect(sumOf(fn, 'minute')).resolves.toEqual([2, 1, 1]);
    await rig.client.run(fn, 6);
    const [six] = (await claimUpTo(source, fn, 1)) as [Claim];
    await source.settle([success(six)]);
    await source.close();
    await expect(sumOf(fn, 'minute')).resolves.toEqual([3, 1, 1]);
    await expect(sumOf(fn, 'hour')).resolves.toEqual([3, 1, 1]);
  });

  it('do not have jobs that were given back', async () => {
    const fn = rig.fn();
    const source = rig.source();
    await source.open([fn]);
    await rig.client.run(fn, 1);
    const [claim] = (await claimUpTo(source, fn, 1)) as [Claim];
    await source.settle([released(claim)]);
    await source.close();
    await expect(sumOf(fn, 'minute')).resolves.toEqual([0, 0, 0]);
  });
});
