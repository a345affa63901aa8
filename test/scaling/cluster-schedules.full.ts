import { describe, expect, it } from '@jest/globals';
import { taggedKeysOf } from '../../lib/gearmonkey/core/wire/hash-tags.js';
import { slotOf } from '../../lib/redis/cluster-slots.js';
import type { RunningJob } from '../../lib/worker/running-job.js';
import { runWorker, stopWorkersAfterEach } from '../support/run-worker.js';
import { eventually } from '../support/until.js';
import { useCluster } from './use-cluster.js';

const FUNCTIONS = ['report', 'remind', 'clean', 'sync', 'bill', 'poll'];

describe('schedules on a cluster', () => {
  const used = useCluster();
  stopWorkersAfterEach();

  it('of functions on all masters create each job once, are listed and removed', async () => {
    const client = used.actors.client();
    const masters = await Promise.all(
      FUNCTIONS.map((fn) => used.cluster.masterOf(taggedKeysOf(fn).schedules)),
    );
    expect(new Set(masters).size).toBe((await used.cluster.masters()).length);
    const ran: RunningJob[] = [];
    for (const fn of FUNCTIONS) {
      const handle = (_: unknown, job: RunningJob) => ran.push(job);
      for (let i = 0; i < 2; i++) await runWorker(used.actors.source(), fn, handle);
      await client.recur(fn, { id: `each-${fn}`, every: '1s', limit: 3, catchUp: 'all', input: fn });
    }
    const all = await client.schedules.list();
    expect(all.map(({ fn }) => fn).toSorted()).toEqual(FUNCTIONS.toSorted());
    await expect(client.schedules.list('bill')).resolves.toMatchObject([{ id: 'each-bill', fn: 'bill' }]);

    await eventually(() => expect(ran).toHaveLength(3 * FUNCTIONS.length), { timeout: 30_000 });
    for (const fn of FUNCTIONS) {
      const slots = ran.filter(({ input }) => input === fn).map(({ recurring }) => Number(recurring?.slot));
      const [first = 0] = slots.toSorted((one, other) => one - other);
      expect(new Set(slots)).toEqual(new Set([first, first + 1000, first + 2000]));
      await expect(client.schedules.get(`each-${fn}`)).resolves.toMatchObject({ created: 3 });
    }

    await client.schedules.update('each-poll', { limit: null });
    await client.schedules.pause('each-poll');
    await expect(client.schedules.get('each-poll')).resolves.toMatchObject({ paused: true });
    for (const fn of FUNCTIONS) await client.schedules.remove(`each-${fn}`);
    await expect(client.schedules.list()).resolves.toEqual([]);
    for (const fn of FUNCTIONS) {
      const { schedules, ticks } = taggedKeysOf(fn);
      expect([await used.redis.exists(schedules), await used.redis.exists(ticks)]).toEqual([0, 0]);
    }
    await expect(used.redis.exists('schedules')).resolves.toBe(0);
  });

  it('have their index in a slot of its own, so that an id names one schedule of the whole cluster', async () => {
    const client = used.actors.client();
    expect(FUNCTIONS.map((fn) => slotOf(taggedKeysOf(fn).schedules))).not.toContain(slotOf('schedules'));
    await client.recur('report', { id: 'nightly', cron: '0 3 * * *' });
    await expect(client.recur('remind', { id: 'nightly', cron: '0 3 * * *' })).rejects.toMatchObject({
      code: 'SCHEDULE_EXISTS',
    });
    await expect(used.redis.hgetall('schedules')).resolves.toEqual({ nightly: 'report' });
    await client.schedules.remove('nightly');
  });
});
