import { describe, expect, it } from '@jest/globals';
import { isFinal } from '../../lib/job/job-state.js';
import { killProcesses } from '../support/test-process.js';
import { inFullTier } from '../support/tier.js';
import { until } from '../support/until.js';
import { Program, stopProgramsAfterEach } from '../support/worker-process.js';
import { useGearMonkey } from './use-gearmonkey.js';

const LEASE_MS = 1000;

describe('A job that ends its process', () => {
  const rig = useGearMonkey();
  stopProgramsAfterEach();

  /** Starts a worker anew whenever it has died, until the condition holds. */
  async function superviseUntil(fn: string, isOver: () => Promise<boolean>): Promise<void> {
    while (!(await isOver())) {
      const options = { url: rig.url, fn, lease: LEASE_MS, concurrency: 5 };
      const program = await Program.start('test/gearmonkey/worker-program.ts', options);
      await until(async () => program.hasEnded || (await isOver()), { timeout: 30_000 });
    }
    await killProcesses();
  }

  inFullTier(() => {
    it('fails, and those beside it succeed', async () => {
      const fn = rig.fn();
      const jobs = await rig.client.runMany(fn, [
        { exit: 300 },
        ...Array.from({ length: 4 }, () => ({ work: 2000 })),
      ]);
      const states = async () => (await Promise.all(jobs.map((job) => job.get()))).map(({ state }) => state);
      await superviseUntil(fn, async () => (await states()).every((s) => isFinal(s)));
      await expect(states()).resolves.toEqual(['failed', 'succeeded', 'succeeded', 'succeeded', 'succeeded']);
      await expect(jobs[0]?.result()).rejects.toMatchObject({
        message: expect.stringContaining('4 times, the last time while it ran alone'),
      });
    }, 180_000);
  });
});
