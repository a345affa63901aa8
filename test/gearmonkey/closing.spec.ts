import { describe, expect, it } from '@jest/globals';
import { setTimeout as delay } from 'node:timers/promises';
import type { RedisSource } from '../../lib/gearmonkey/redis-source.js';
import { SlotTable } from '../../lib/worker/function-slots.js';
import { claimOne } from '../contract/claiming.js';
import { gate } from '../support/gate.js';
import { runWorker } from '../support/run-worker.js';
import { eventually, until } from '../support/until.js';
import { useGearMonkey } from './use-gearmonkey.js';

/** Far longer than any of these tests: a worker that drains for so long must keep nothing from others meanwhile. */
const SHUTDOWN_MS = 600_000;
const CONCURRENCY = 5;
/** A claim whose reply is lost with its connection ends with its lease. */
const BROKEN_LEASE_MS = 6_000;

describe('A worker that closes', () => {
  const rig = useGearMonkey();

  const blocked = async () =>
    Number(/blocked_clients:(\d+)/.exec(await rig.redis.info('clients'))?.[1] ?? Number.NaN);
  const becomesBlocked = (count: number) =>
    until(async () => (await blocked()) === count, { message: `${count} workers wait for work` });

  /** A worker that holds the job `held`, has slots left, and drains as long as `end` is closed. */
  async function draining(fn: string, source: RedisSource = rig.source()) {
    const [begun, end] = [gate(), gate()];
    const { worker } = await runWorker(
      source,
      fn,
      async (input) => {
        if (input !== 'held') return 'of the closing';
        begun.open();
        await end.passed;
        return 'held';
      },
      { concurrency: CONCURRENCY },
    );
    const held = await rig.client.run(fn, 'held');
    await begun.passed;
    return { held, end, stop: () => worker.stop(SHUTDOWN_MS) };
  }

  /** An idle worker beside it, and the outputs of jobs that it must run while the other drains. */
  const beside = (fn: string, source: RedisSource = rig.source()) =>
    runWorker(source, fn, () => 'of the other', { concurrency: CONCURRENCY });

  async function outputsOf(jobs: readonly { result(options: { timeout: string }): Promise<unknown> }[]) {
    return Promise.all(jobs.map((job) => job.result({ timeout: '20s' })));
  }

  it('releases at once the claims of the call behind its wait', async () => {
    const fn = rig.fn();
    const closing = await draining(fn);
    await becomesBlocked(1);
    const stopped = closing.stop();
    const jobs = await rig.client.runMany(fn, [1, 2, 3, 4, 5]);
    await beside(fn);
    await expect(outputsOf(jobs)).resolves.toEqual(jobs.map(() => 'of the other'));
    closing.end.open();
    await stopped;
    await expect(closing.held.result({ timeout: '20s' })).resolves.toBe('held');
  });

  it('waits for no more jobs while it drains, and takes no marker from others', async () => {
    const fn = rig.fn();
    const closing = await draining(fn);
    await beside(fn);
    await becomesBlocked(2);
    const stopped = closing.stop();
    await becomesBlocked(1);
    for (let i = 0; i < 5; i++)
      await expect(rig.client.call(fn, i, { timeout: '20s' })).resolves.toBe('of the other');
    closing.end.open();
    await stopped;
  });

  it.each([0, 1, 2, 3, 5, 8, 13, 21])(
    'neither loses nor keeps jobs that are enqueued around that moment, %i ms apart',
    async (apart) => {
      const fn = rig.fn();
      const closing = await draining(fn);
      await beside(fn);
      const early = rig.client.runMany(fn, [1, 2, 3, 4, 5, 6, 7, 8]);
      // Not waited for anything: each moment finds its calls elsewhere.
      await delay(apart);
      const stopped = closing.stop();
      await delay(apart);
      const late = rig.client.runMany(fn, [1, 2, 3, 4, 5, 6, 7, 8]);
      const jobs = [...(await early), ...(await late)];
      const outputs = await outputsOf(jobs);
      expect(outputs.slice(8)).toEqual(Array<string>(8).fill('of the other'));
      await eventually(async () => expect(await rig.redis.zcard(`lease:${fn}`)).toBe(1), {
        message: 'only the held job is leased',
      });
      closing.end.open();
      await stopped;
      for (const job of jobs)
        await expect(job.get()).resolves.toMatchObject({ attempts: 1, state: 'succeeded' });
    },
  );

  it('neither loses nor keeps jobs if its connections break meanwhile', async () => {
    const fn = rig.fn();
    const source = () => rig.source({ lease: BROKEN_LEASE_MS });
    const closing = await draining(fn, source());
    await beside(fn, source());
    const early = await rig.client.runMany(fn, [1, 2, 3, 4, 5]);
    const stopped = closing.stop();
    await rig.redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    const late = await rig.client.runMany(fn, [1, 2, 3, 4, 5]);
    await outputsOf([...early, ...late]);
    closing.end.open();
    await stopped;
    await expect(closing.held.result({ timeout: '20s' })).resolves.toBe('held');
  });

  it('claims again if `claim` is called again', async () => {
    const fn = rig.fn();
    const source = rig.source();
    await source.open([fn]);
    const pause = new AbortController();
    const claims = source.claim(new SlotTable([[fn, 1]]), pause.signal);
    await becomesBlocked(1);
    pause.abort();
    await expect(claims).resolves.toEqual([]);
    await becomesBlocked(0);
    const again = claimOne(source, fn);
    const id = await rig.client.run(fn, 'x').then((job) => job.id);
    await expect(again).resolves.toMatchObject({ id });
    await source.close();
  });

  it('that was still opening is no longer counted', async () => {
    const fn = rig.fn();
    const source = rig.source({ presence: 200 }, { keeper: true });
    const opened = source.open([fn]).catch((error: unknown) => error);
    await source.close();
    await opened;
    await expect(rig.redis.zcard(`workers:${fn}`)).resolves.toBe(0);
    await expect(rig.redis.get(`count:${fn}`)).resolves.not.toBe('1');
  });
});
