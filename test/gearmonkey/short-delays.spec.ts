import { afterEach, describe, expect, it } from '@jest/globals';
import { defineJob } from '../../lib/job/job-definition.js';
import { SnoozeError } from '../../lib/job/retry.js';
import { ShortDelays } from '../../lib/gearmonkey/core/source/claimer.js';
import type { RunningJob } from '../../lib/worker/running-job.js';
import { keysOf } from '../../lib/gearmonkey/core/wire/protocol.js';
import { claimOne, retry as retried } from '../contract/claiming.js';
import { runWorker } from '../support/run-worker.js';
import { eventually, until } from '../support/until.js';
import { useGearMonkey } from './use-gearmonkey.js';

const DELAY_MS = 50;
/** A leader looks once a second: what took less was not found by it, in most attempts. */
const LOOK_MS = 1000;
const ATTEMPTS = 5;

describe('Delays of less than a second', () => {
  const rig = useGearMonkey();

  /** The gaps between the claims of a job, in ms by the server's clock, which also decides when it is due. */
  async function gaps(again: () => void, limit?: { order: 'strict' }): Promise<number[]> {
    const fn = rig.fn();
    const definition = defineJob(fn, {
      retry: { attempts: ATTEMPTS, delay: DELAY_MS, backoff: 'fixed', jitter: 0 },
      ...(limit && { limit: { key: () => 'k', concurrency: 1, ...limit } }),
    });
    const begun: number[] = [];
    const handle = async (_: unknown, job: RunningJob) => {
      begun.push(Number(await rig.redis.hget(`job:${fn}:${job.id}`, 'started')));
      if (begun.length < ATTEMPTS) again();
    };
    await runWorker(rig.source(), definition, handle);
    await rig.client.call(definition, 1, { timeout: '30s' });
    return begun.slice(1).map((at, index) => at - (begun[index] ?? 0));
  }

  const retry = () => {
    throw new Error('again');
  };
  const snooze = () => {
    throw new SnoozeError(DELAY_MS);
  };

  it.each<[string, () => void, { order: 'strict' } | undefined]>([
    ['a retry', retry, undefined],
    ['a snooze', snooze, undefined],
    ['a retry of a strict key', retry, { order: 'strict' }],
  ])('are kept by the worker that puts off the job: %s', async (_, again, limit) => {
    const measured = await gaps(again, limit);
    expect(Math.min(...measured)).toBeGreaterThanOrEqual(DELAY_MS);
    expect(Math.min(...measured)).toBeLessThan(LOOK_MS / 2);
  });

  it.each([
    ['waits', 0],
    ['polls', 60_000],
  ])(
    'are kept for other workers by one that %s and claims no more, and that no leader looks for',
    async (_, pollInterval) => {
      const fn = rig.fn();
      const { wake } = keysOf(fn);
      await rig.client.run(fn, 'x');
      const source = rig.source({ pollInterval });
      const claim = await claimOne(source, fn);
      await rig.redis.del(wake);
      await source.settle([retried(claim, DELAY_MS)]);
      await eventually(async () => expect(await rig.redis.exists(wake)).toBe(1));
    },
  );
});

describe('ShortDelays', () => {
  let delays: ShortDelays | undefined;
  afterEach(() => delays?.close());

  it('looks once for what is due together, not before, and not for what the leader finds', async () => {
    const looks: [string, number][] = [];
    const began = performance.now();
    delays = new ShortDelays((fn) => void looks.push([fn, performance.now() - began]));
    for (const wait of [20, 20, 20, 1000, 5000]) delays.expect('a', wait);
    delays.expect('b', 40);
    await until(() => looks.some(([fn]) => fn === 'b'));
    expect(looks.filter(([fn]) => fn === 'a').length).toBeLessThanOrEqual(2);
    for (const [fn, at] of looks) expect(at).toBeGreaterThanOrEqual(fn === 'a' ? 20 : 40);
    delays.expect('c', 10);
    delays.close();
    expect(delays['timers'].size).toBe(0);
  });
});
