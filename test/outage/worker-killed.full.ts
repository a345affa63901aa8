import { describe, expect, it } from '@jest/globals';
import { SoakProcess } from '../soak/soak-process.js';
import { eventually, until } from '../support/until.js';
import { HELD, figure, useOutage, work } from './outage-rig.js';
import { onThisMachine } from '../support/machine.js';
import { inFullTier } from '../support/tier.js';

describe('a worker process that is killed, at defaults', () => {
  const outage = useOutage([]);

  inFullTier(() => {
    it('is subtracted from the count within 15 s, and its job runs before waiting jobs', async () => {
      const dying = await SoakProcess.start('the holder', '../outage/holder.ts', outage.server.url);
      try {
        const { client } = await outage.actor({}, { works: false });
        const job = await client.run(work, 'left behind');
        await eventually(async () => expect((await job.get()).state).toBe('running'));
        const other = await outage.actor();
        // A worker without a free slot claims nothing: what was left behind waits for the first that is free.
        const filling = await client.runMany(work, Array<string>(10).fill(HELD));
        const waiting = await client.run(work, 'waiting');
        await eventually(() => expect(other.runs).toHaveLength(filling.length));
        await expect(client.rollCall(work)).resolves.toBe(2);

        dying.kill();
        const since = performance.now();
        await eventually(async () => expect(await client.rollCall(work)).toBe(1), { timeout: 15_000 });
        figure('SIGKILL of a worker, defaults: the count is right', performance.now() - since);
        await until(async () => Number(await outage.redis.zscore('lease:work', `${job.id}:1`)) < Date.now());
        other.letGo();
        await expect(job.result({ timeout: '30s' })).resolves.toBe('left behind, done');
        await waiting.result({ timeout: '30s' });
        expect(other.runs.slice(filling.length)).toEqual([job.id, waiting.id]);
      } finally {
        dying.kill();
      }
    });
  });

  it('has its job run by an idle worker within 10 s', async () => {
    const dying = await SoakProcess.start('the holder', '../outage/holder.ts', outage.server.url);
    try {
      const { client } = await outage.actor({}, { works: false });
      const job = await client.run(work, 'left behind');
      await eventually(async () => expect((await job.get()).state).toBe('running'));
      const other = await outage.actor();
      dying.kill();
      const since = performance.now();
      await eventually(() => expect(other.runs).toContain(job.id), { timeout: 12_000 });
      figure('SIGKILL of a worker, defaults: its job runs again', performance.now() - since);
      expect(performance.now() - since).toBeLessThan(onThisMachine(10_000));
    } finally {
      dying.kill();
    }
  });
});
