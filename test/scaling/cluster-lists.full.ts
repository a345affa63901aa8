import { describe, expect, it } from '@jest/globals';
import { taggedKeysOf } from '../../lib/gearmonkey/core/wire/hash-tags.js';
import { slotOf } from '../../lib/redis/cluster-slots.js';
import { runWorker, stopWorkersAfterEach } from '../support/run-worker.js';
import { eventually } from '../support/until.js';
import { useCluster } from './use-cluster.js';

const FUNCTIONS = ['mail', 'resize', 'report', 'index', '{media}:cut', '{media}:scale'];

describe('lists on a cluster', () => {
  const used = useCluster();
  stopWorkersAfterEach();

  it('show functions of several slots, and mend the failed jobs of one alone', async () => {
    expect(new Set(FUNCTIONS.map((fn) => slotOf(taggedKeysOf(fn).control))).size).toBe(FUNCTIONS.length - 1);
    const client = used.actors.client();
    const failing = new Set(FUNCTIONS);
    for (const fn of FUNCTIONS)
      await runWorker(used.actors.source(), fn, (input) => {
        if (Number(input) > 1 && failing.has(fn)) throw new Error(`no page ${input}`);
        return input;
      });
    const handles = [];
    for (const fn of FUNCTIONS) handles.push(...(await client.runMany(fn, [1, 2, 3])));
    for (const handle of handles) await handle.result({ timeout: '60s' }).catch(() => undefined);
    const countsOf = async () => {
      const all = await client.overview();
      return Object.fromEntries(all.map(({ fn, succeeded, failed }) => [fn, [succeeded, failed]]));
    };
    const each = (counts: readonly number[]) => Object.fromEntries(FUNCTIONS.map((fn) => [fn, counts]));
    // A function is noted behind the call that enqueued its first job.
    await eventually(async () => expect(await countsOf()).toEqual(each([1, 2])));

    for (const fn of FUNCTIONS) {
      const { jobs, total, next } = await client.list(fn, { state: 'failed', order: 'oldest', size: 1 });
      expect([fn, jobs.map((job) => job.fn), total, next === undefined]).toEqual([fn, [fn], 2, false]);
      const rest = await client.list(fn, { state: 'failed', order: 'oldest', size: 1, page: next });
      expect(new Set([...jobs, ...rest.jobs].map(({ id }) => id))).toEqual(new Set(['2', '3']));
      await expect(client.failures(fn)).resolves.toMatchObject([{ message: 'no page <n>', count: 2 }]);
    }

    for (const fn of FUNCTIONS) {
      const { id } = await client.run(fn, 1, { tags: [`of:${fn}`], delay: '1h' });
      const { jobs } = await client.find(fn, { tag: `of:${fn}` });
      expect(jobs).toMatchObject([{ fn, id, state: 'scheduled' }]);
      await client.cancel(fn, id);
    }

    failing.clear();
    await expect(client.retry('mail', { state: 'failed' }).done).resolves.toBe(2);
    await expect(client.discard('{media}:cut', { state: 'failed' }).done).resolves.toBe(2);
    const mended = { ...each([1, 2]), mail: [3, 0], '{media}:cut': [1, 0] };
    await eventually(async () => expect(await countsOf()).toEqual(mended));
    await expect(client.get('{media}:cut', '2')).resolves.toBeNull();
    await expect(client.get('{media}:scale', '2')).resolves.toMatchObject({ state: 'failed' });
  });
});
