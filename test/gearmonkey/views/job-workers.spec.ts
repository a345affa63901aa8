import { describe, expect, it } from '@jest/globals';
import { gate } from '../../support/gate.js';
import { runWorker } from '../../support/run-worker.js';
import { eventually } from '../../support/until.js';
import { useGearMonkey } from '../use-gearmonkey.js';

const rig = useGearMonkey();

/** Renewed every 100 ms. */
const LEASE_MS = 400;

/** A job that runs until the gate opens. */
async function heldJob(fn: string, end: () => Promise<unknown>) {
  const begun = gate();
  await runWorker(rig.source({ lease: LEASE_MS }), fn, () => {
    begun.open();
    return end();
  });
  const job = await rig.client.run(fn, 1, {});
  await begun.passed;
  return job;
}

async function onlyWorkerOf(fn: string): Promise<string> {
  const [id, ...others] = await rig.redis.zrange(`workers:${fn}`, '0', '-1');
  expect(others).toEqual([]);
  return String(id);
}

describe('A job that runs for a while', () => {
  it('names its worker, also after its end', async () => {
    const fn = rig.fn();
    const end = gate();
    const job = await heldJob(fn, () => end.passed);
    const worker = await onlyWorkerOf(fn);
    await eventually(async () => expect(await job.get()).toEqual(expect.objectContaining({ worker })));
    const { jobs } = await rig.client.list(fn, { state: 'running' });
    expect(jobs).toEqual([expect.objectContaining({ id: job.id, worker })]);
    end.open();
    await job.result();
    await expect(job.get()).resolves.toMatchObject({ state: 'succeeded', worker });
  });

  it('names none if another run has begun since, or the name is none', async () => {
    const fn = rig.fn();
    await rig.redis.hset(`job:${fn}:1`, { status: 'busy', input: '1', token: 7, worker: '7:a-worker' });
    const named = async () => (await rig.client.get(fn, '1'))?.worker;
    await expect(named()).resolves.toBe('a-worker');
    for (const worker of ['6:a-worker', '7:', '7:<b>', `7:${'x'.repeat(101)}`, 'a-worker']) {
      await rig.redis.hset(`job:${fn}:1`, { worker });
      await expect(named()).resolves.toBeUndefined();
    }
  });

  it('keeps its lease if its hash was deleted or has another type', async () => {
    const fn = rig.fn();
    const end = gate();
    const job = await heldJob(fn, () => end.passed);
    const other = await rig.client.run(fn, 2);
    const key = `job:${fn}:${job.id}`;
    await rig.redis.del(key);
    const endOfLease = async () => Number((await rig.redis.zrange(`lease:${fn}`, '0', '0', 'WITHSCORES'))[1]);
    const renewed = async () => {
      const before = await endOfLease();
      await eventually(async () => expect(await endOfLease()).toBeGreaterThan(before));
    };
    await renewed();
    await expect(rig.redis.exists(key)).resolves.toBe(0);
    await rig.redis.set(key, 'no hash');
    await renewed();
    await expect(rig.redis.get(key)).resolves.toBe('no hash');
    await rig.redis.del(key);
    end.open();
    await other.result();
  });
});
