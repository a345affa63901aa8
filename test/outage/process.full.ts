import { describe, expect, it } from '@jest/globals';
import { setTimeout as delay } from 'node:timers/promises';
import { SlowLine } from '../support/slow-line.js';
import { SoakProcess } from '../soak/soak-process.js';
import { eventually } from '../support/until.js';
import { figure, statuses, useOutage } from './outage-rig.js';

interface Report {
  readonly acknowledged: number;
  readonly finished: number;
  readonly rejected: Record<string, number>;
  readonly begun: readonly string[];
}

const PAUSE_MS = 1000;

describe('a process that works and enqueues during many outages', () => {
  const outage = useOutage();

  it('loses no job, runs none twice, leaves no rejection unhandled, and ends by itself', async () => {
    const proxy = await SlowLine.start(outage.server.port);
    const survivor = await SoakProcess.start('the survivor', '../outage/survivor.ts', proxy.url);
    const { redis, server } = outage;
    const outages: [string, () => Promise<unknown>][] = [
      ['kill and restart', () => server.kill().then(() => server.restart())],
      ['pause', () => redis.client('PAUSE', PAUSE_MS, 'ALL')],
      ['CLIENT KILL', () => redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')],
      ['CLIENT KILL pubsub', () => redis.call('CLIENT', 'KILL', 'TYPE', 'pubsub')],
      ['SCRIPT FLUSH', () => redis.script('FLUSH')],
      ['half-open', async () => proxy.freezeOpenOnes()],
      ['all swallowed', () => swallowFor(proxy, 2500)],
      ['cut', async () => proxy.cut()],
    ];
    try {
      for (const [what, cause] of outages) {
        const finishedBefore = await finished();
        await cause();
        const since = performance.now();
        await eventually(async () => expect(await finished()).toBeGreaterThan(finishedBefore + 20), {
          message: `Stuck after: ${what}`,
        });
        figure(`process, ${what}: 20 more jobs done`, performance.now() - since);
      }
      const report = await survivor.close<Report>();
      expect(report.finished).toBe(report.acknowledged);
      expect(Object.keys(report.rejected)).toEqual(['ENQUEUE_TIMEOUT']);
      expect(report.begun.filter((id, index) => report.begun.indexOf(id) !== index)).toEqual([]);
      expect(Object.keys(await statuses(redis))).toEqual(['success']);
    } finally {
      survivor.kill();
      await proxy.stop();
    }

    async function finished(): Promise<number> {
      return (await statuses(redis).catch(() => ({ success: 0 })))['success'] ?? 0;
    }
  });
});

/** Longer than a deadline of the process, shorter than a lease. */
async function swallowFor(proxy: SlowLine, milliseconds: number): Promise<void> {
  proxy.separate('swallowed');
  await delay(milliseconds);
  proxy.heal();
}
