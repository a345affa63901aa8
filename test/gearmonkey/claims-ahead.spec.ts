import { describe, expect, it } from '@jest/globals';
import type { Claim } from '../../lib/job/job-source.js';
import { gate } from '../support/gate.js';
import { runWorker } from '../support/run-worker.js';
import { eventually } from '../support/until.js';
import { useGearMonkey } from './use-gearmonkey.js';

const SHORT = 300;

describe('Short jobs of a worker with one slot', () => {
  const rig = useGearMonkey();

  const numbers = (count: number) => Array.from({ length: count }, (_, i) => i);
  const calls = async () => {
    const [, count] = /cmdstat_evalsha:calls=(\d+)/.exec(await rig.redis.info('commandstats')) ?? [];
    return Number(count ?? 0);
  };

  it('run one after the other, in order, several per call', async () => {
    const fn = rig.fn();
    const ran: number[] = [];
    let running = 0;
    let most = 0;
    await rig.client.runMany(fn, numbers(SHORT));
    await rig.redis.config('RESETSTAT');
    await runWorker(rig.source(), fn, async (input) => {
      most = Math.max(most, ++running);
      ran.push(input as number);
      await Promise.resolve();
      running -= 1;
    });
    await eventually(() => expect(ran).toHaveLength(SHORT));
    expect(ran).toEqual(numbers(SHORT));
    expect(most).toBe(1);
    expect(await calls()).toBeLessThan(SHORT);
  });

  /** A source, and for how long the lease of each claim is renewed. */
  function limitedSource() {
    const source = rig.source();
    const limits = new Map<Claim, number[]>();
    const note = (claim: Claim, ms: number) => void limits.set(claim, [...(limits.get(claim) ?? []), ms]);
    Object.assign(source.leases, { setDeadline: note, giveBackAfter: note });
    return { source, limits };
  }

  it('have a lease that is renewed for a second only while they wait for the slot', async () => {
    const fn = rig.fn();
    const { source, limits } = limitedSource();
    const ran: Claim[] = [];
    await rig.client.runMany(fn, numbers(SHORT));
    await runWorker(source, fn, (_, { claim }) => ran.push(claim));
    await eventually(() => expect(ran).toHaveLength(SHORT));
    const ofThoseThatWaited = ran.flatMap((claim) => limits.get(claim)?.join() ?? []);
    expect(new Set(ofThoseThatWaited)).toEqual(new Set(['1000,Infinity']));
  });

  it('go to another worker if one of them takes long', async () => {
    const fn = rig.fn();
    const [started, end] = [gate(), gate()];
    const long = async (input: unknown) => {
      if (input !== 'long') return 'of the first';
      started.open();
      await end.passed;
      return 'late';
    };
    await rig.client.runMany(fn, [...numbers(SHORT), 'long']);
    await runWorker(rig.source(), fn, long);
    await started.passed;
    const after = await rig.client.runMany(fn, numbers(20));
    await runWorker(rig.source(), fn, () => 'of the other');
    const outputs = await Promise.all(after.map((job) => job.result({ timeout: '20s' })));
    expect(new Set(outputs)).toEqual(new Set(['of the other']));
    for (const job of after) await expect(job.get()).resolves.toMatchObject({ attempts: 1 });
    end.open();
  });

  it('can be cancelled while they wait for the slot', async () => {
    const fn = rig.fn();
    const [held, go] = [gate(), gate()];
    const ran: unknown[] = [];
    await rig.client.runMany(fn, numbers(SHORT));
    await runWorker(rig.source(), fn, async (input) => {
      ran.push(input);
      if (input !== 'held') return;
      held.open();
      await go.passed;
    });
    await eventually(() => expect(ran).toHaveLength(SHORT));
    const [, victim] = await rig.client.runMany(fn, ['held', 'victim', 'last']);
    await held.passed;
    await expect(victim?.cancel()).resolves.toBe(true);
    go.open();
    await eventually(() => expect(ran).toContain('last'));
    await expect(victim?.get()).resolves.toMatchObject({ error: { code: 'JOB_CANCELLED' } });
  });

  it('are released without an attempt when the worker stops', async () => {
    const fn = rig.fn();
    const [held, end] = [gate(), gate()];
    await rig.client.runMany(fn, numbers(SHORT));
    let count = 0;
    const { source, limits } = limitedSource();
    const { worker } = await runWorker(source, fn, async (input) => {
      count += 1;
      if (input !== 'held') return;
      held.open();
      await end.passed;
    });
    await eventually(() => expect(count).toBe(SHORT));
    const jobs = await rig.client.runMany(fn, ['held', ...numbers(10)]);
    await held.passed;
    const stopped = worker.stop(20_000);
    end.open();
    await stopped;
    const waiting = await rig.redis.lrange(`queue:${fn}:normal`, 0, -1);
    // Those of one call are in order; a call that comes back late puts its own in front.
    expect(waiting.sort()).toEqual(jobs.slice(1).map(({ id }) => id));
    const attempts = await Promise.all(waiting.map((id) => rig.redis.hget(`job:${fn}:${id}`, 'attempts')));
    expect(attempts.every((text) => text === null || text === '0')).toBe(true);
    // It was renewed until that was written.
    expect([...limits.values()].filter((all) => all.at(-1) !== Infinity)).toEqual([]);
  });
});
