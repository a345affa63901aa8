import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { RunningJob } from 'nestjs-gearmonkey';
import { gate } from '../support/gate.js';
import { runWorker, stopWorkersAfterEach } from '../support/run-worker.js';
import { eventually } from '../support/until.js';
import { useRedisServer } from '../support/use-redis.js';
import { claimOne, released } from '../contract/claiming.js';
import { RedisActors } from './redis-rig.js';

/** How a server comes to take no writes, and takes them again. */
const FAULTS = {
  READONLY: [
    ['REPLICAOF', '127.0.0.1', '1'],
    ['REPLICAOF', 'NO', 'ONE'],
  ],
  NOREPLICAS: [
    ['CONFIG', 'SET', 'min-replicas-to-write', '1'],
    ['CONFIG', 'SET', 'min-replicas-to-write', '0'],
  ],
} as const;

/** Faults of the records of running jobs, which also wait for these. */
const OTHERS = {
  OOM: [
    ['CONFIG', 'SET', 'maxmemory', '1'],
    ['CONFIG', 'SET', 'maxmemory', '0'],
  ],
  NOPERM: [
    ['ACL', 'SETUSER', 'default', '-@write', '-@scripting'],
    ['ACL', 'SETUSER', 'default', '+@all'],
  ],
} as const;

describe.each(Object.entries({ ...FAULTS, ...OTHERS }))(
  'the records of a job that runs while a server refuses writes with %s',
  (code, [begin, end]) => {
    const server = useRedisServer();
    let actors: RedisActors;
    beforeAll(() => void (actors = new RedisActors(server.url)));
    afterAll(() => actors.close());
    stopWorkersAfterEach();
    afterEach(() => server.redis.call(...(end as unknown as [string])));

    it(code === 'OOM' ? 'are written' : 'wait, and its handler goes on', async () => {
      const fn = server.fn();
      const go = gate();
      let [runs, effects] = [0, 0];
      await runWorker(actors.source(), fn, async (_, job) => {
        runs += 1;
        await go.passed;
        await job.update(1, 2);
        await job.step('effect', () => (effects += 1));
        await job.log('a line');
        await job.chunk('a part');
        return 'done';
      });
      const client = actors.client();
      const { id } = await client.run(fn, 1);
      await eventually(() => expect(runs).toBe(1));
      await server.redis.config('RESETSTAT');
      await server.redis.call(...(begin as unknown as [string]));
      go.open();
      const succeeded = () =>
        eventually(async () =>
          expect(await client.get(fn, id)).toMatchObject({ state: 'succeeded', output: 'done', attempts: 1 }),
        );
      if (code === 'OOM') await succeeded();
      else await eventually(async () => expect(await server.redis.info('errorstats')).toContain(`_${code}:`));
      await server.redis.call(...(end as unknown as [string]));
      await succeeded();
      expect([runs, effects]).toEqual([1, 1]);
    });
  },
);

describe.each(Object.entries(FAULTS))('while a server refuses writes with %s', (code, [begin, end]) => {
  const server = useRedisServer();
  let actors: RedisActors;
  let fn = '';
  beforeAll(() => void (actors = new RedisActors(server.url)));
  afterAll(() => actors.close());
  beforeEach(() => void (fn = server.fn()));
  stopWorkersAfterEach();
  afterEach(() => server.redis.call(...(end as unknown as [string])));

  async function refuse(): Promise<void> {
    await server.redis.config('RESETSTAT');
    await server.redis.call(...(begin as unknown as [string]));
  }
  /** Takes writes again once one was refused. */
  async function takeAgain(): Promise<void> {
    await eventually(async () => expect(await server.redis.info('errorstats')).toContain(`_${code}:`));
    await server.redis.call(...(end as unknown as [string]));
  }

  it.each([
    ['an output', () => 'done', { state: 'succeeded', output: 'done' }],
    ['an error', () => Promise.reject(new Error('as told')), { state: 'failed' }],
  ])('%s of a handler waits, and its job runs once', async (_, end, expected) => {
    const problems: string[] = [];
    const mayEnd = gate();
    let runs = 0;
    const source = actors.source({ onProblem: (message) => void problems.push(message) });
    await runWorker(source, fn, async () => {
      runs += 1;
      await mayEnd.passed;
      return end();
    });
    const client = actors.client();
    const { id } = await client.run(fn, 1);
    await eventually(() => expect(runs).toBe(1));
    await refuse();
    mayEnd.open();
    await takeAgain();
    await eventually(async () =>
      expect(await client.get(fn, id)).toMatchObject({ ...expected, attempts: 1 }),
    );
    expect(runs).toBe(1);
    expect(problems.filter((message) => message.includes('lease'))).toEqual([]);
    await expect(server.redis.exists(`lease:${fn}`)).resolves.toBe(0);
  });

  it('a step waits, and one that is recorded after it keeps its place', async () => {
    const [mayBegin, isRefused, isTaken] = [gate(), gate(), gate()];
    const effects: string[] = [];
    const handle = async (_: unknown, job: RunningJob) => {
      await mayBegin.passed;
      const first = job.step('first', () => effects.push('first'));
      await isRefused.passed;
      const second = job.step('second', async () => {
        await isTaken.passed;
        effects.push('second');
      });
      await Promise.all([first, second]);
      if (job.attempts === 1) throw new Error('as told');
    };
    await runWorker(actors.source(), fn, handle, { retry: { attempts: 2, delay: 10, jitter: 0 } });
    const client = actors.client();
    const { id } = await client.run(fn, 1);
    await eventually(async () => expect((await client.get(fn, id))?.state).toBe('running'));
    await refuse();
    mayBegin.open();
    await eventually(async () => expect(await server.redis.info('errorstats')).toContain(`_${code}:`));
    isRefused.open();
    await takeAgain();
    isTaken.open();
    await eventually(async () =>
      expect(await client.get(fn, id)).toMatchObject({ state: 'succeeded', attempts: 2 }),
    );
    expect(effects).toEqual(['first', 'second']);
  });

  it('a failed attempt waits, and is tried again once', async () => {
    const mayEnd = gate();
    let runs = 0;
    const handle = async () => {
      runs += 1;
      await mayEnd.passed;
      if (runs === 1) throw new Error('as told');
    };
    await runWorker(actors.source(), fn, handle, { retry: { attempts: 3, delay: 10, jitter: 0 } });
    const client = actors.client();
    const { id } = await client.run(fn, 1);
    await eventually(() => expect(runs).toBe(1));
    await refuse();
    mayEnd.open();
    await takeAgain();
    await eventually(async () =>
      expect(await client.get(fn, id)).toMatchObject({ state: 'succeeded', attempts: 2 }),
    );
    expect(runs).toBe(2);
  });

  it('giving a job back waits', async () => {
    const client = actors.client();
    const source = actors.source();
    await source.open([fn]);
    const { id } = await client.run(fn, 1);
    const claim = await claimOne(source, fn);
    await refuse();
    const given = source.settle([released(claim)]);
    await takeAgain();
    await expect(given).resolves.toEqual([]);
    await expect(client.get(fn, id)).resolves.toMatchObject({ state: 'waiting' });
    await source.close();
  });

  it('cancelling a job waits', async () => {
    const client = actors.client();
    const { id } = await client.run(fn, 1);
    await refuse();
    const cancelled = client.cancel(fn, id);
    await takeAgain();
    await expect(cancelled).resolves.toBe(true);
    await expect(client.get(fn, id)).resolves.toMatchObject({ state: 'cancelled' });
  });

  it('draining waits', async () => {
    const client = actors.client();
    await client.runMany(fn, [1, 2]);
    await refuse();
    const drained = client.drain(fn);
    await takeAgain();
    await expect(drained).resolves.toBe(2);
  });

  it('the start of a worker with a limit ends with an error', async () => {
    const source = actors.source();
    source.limits.set(fn, { rules: { concurrency: 1, order: 'fair' }, keyOf: () => '' } as never);
    await refuse();
    await expect(source.open([fn])).rejects.toMatchObject({ code: 'CONNECTION' });
    await source.close();
  }, 60_000);

  it('retrying a job waits', async () => {
    const client = actors.client();
    const { id } = await client.run(fn, 1);
    await client.cancel(fn, id);
    await refuse();
    const { done } = client.retry(fn, id);
    await takeAgain();
    await expect(done).resolves.toBe(1);
    await expect(client.get(fn, id)).resolves.toMatchObject({ state: 'waiting' });
  });
});
