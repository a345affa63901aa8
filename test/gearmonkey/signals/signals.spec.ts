import { describe, expect, it } from '@jest/globals';
import { runWorker } from '../../support/run-worker.js';
import { until } from '../../support/until.js';
import { useGearMonkey } from '../use-gearmonkey.js';

describe("A plain client's signal", () => {
  const rig = useGearMonkey();

  async function start(fn: string) {
    await runWorker(rig.source(), fn, (_, job) => job.waitFor('approved', { timeout: '7d' }));
    return rig.client.run(fn, null);
  }
  const waits = (fn: string, id: string) =>
    until(async () => (await rig.client.get(fn, id))?.waitsFor?.[0] === 'approved');
  const push = (fn: string, ...entries: string[]) => rig.redis.lpush(`queue:${fn}:signals`, ...entries);

  it('is one command, and wakes a job that waits for it', async () => {
    const fn = rig.fn();
    const job = await start(fn);
    await waits(fn, job.id);
    await push(fn, `${job.id}:approved:{"by":"ada: boss"}`);
    await expect(job.result()).resolves.toEqual({ by: 'ada: boss' });
  });

  it('is kept when it comes first, and the first of several counts', async () => {
    const fn = rig.fn();
    await push(fn, '1:approved:"first"');
    await push(fn, '1:approved:"second"');
    const job = await start(fn);
    expect(job.id).toBe('1');
    await expect(job.result()).resolves.toBe('first');
  });

  it('that is none is passed over', async () => {
    const fn = rig.fn();
    const job = await start(fn);
    await waits(fn, job.id);
    const none = [
      '',
      'x',
      '1',
      ':::',
      `${job.id}:approved`,
      `x:approved:1`,
      '999:approved:1',
      `${job.id}::1`,
    ];
    await push(fn, ...none);
    await rig.redis.set(`job:${fn}:77`, 'no hash');
    await push(fn, '77:approved:1', `${job.id}:approved:true`);
    await expect(job.result()).resolves.toBe(true);
    await expect(rig.redis.exists(`queue:${fn}:signals`)).resolves.toBe(0);
  });

  it('goes unseen if the key is of another type, and other work goes on', async () => {
    const fn = rig.fn();
    await rig.redis.set(`queue:${fn}:signals`, 'no list');
    const job = await start(fn);
    await waits(fn, job.id);
    await job.signal('approved', 1);
    await expect(job.result()).resolves.toBe(1);
  });

  it('with data that is not JSON gives it as text, as an input would', async () => {
    const fn = rig.fn();
    const job = await start(fn);
    await waits(fn, job.id);
    await push(fn, `${job.id}:approved:yes, by ada`);
    await expect(job.result()).resolves.toBe('yes, by ada');
  });
});
