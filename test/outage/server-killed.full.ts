import { describe, expect, it } from '@jest/globals';
import { EnqueueTimeoutError, type JobEvent } from '../../lib/index.js';
import { eventually, until } from '../support/until.js';
import { HELD, figure, statuses, timeToRun, useOutage, work } from './outage-rig.js';
import { onThisMachine } from '../support/machine.js';

describe('a server that is killed and comes back with its data', () => {
  const outage = useOutage();

  it.each([1, 2, 3])('has its worker reconnected within seconds (time %i)', async () => {
    const worker = await outage.actor();
    await worker.client.call(work, 'before', { timeout: '30s' });
    const { lastReplyAt } = worker.health;

    await outage.server.kill();
    await until(() => !worker.health.connected);
    await outage.server.restart();

    figure('server killed: worker resumes', await timeToRun(outage.redis));
    // The connection that hears messages may be back a moment after the one that claims.
    await until(() => worker.health.connected);
    expect(worker.health.lastReplyAt?.getTime()).toBeGreaterThan(lastReplyAt?.getTime() ?? Infinity);
  });

  it('loses no job and runs none twice if it was down for less than a lease', async () => {
    const worker = await outage.actor();
    const held = await worker.client.runMany(work, Array<string>(5).fill(HELD));
    const results = Promise.all(held.map((job) => job.result({ timeout: '20s' })));
    await eventually(() => expect(worker.runs).toHaveLength(5));
    await worker.client.run(work, 'later', { delay: 1500 });

    await outage.server.kill();
    await until(() => !worker.health.connected);
    worker.letGo();
    await outage.server.restart();

    await expect(results).resolves.toEqual(Array(5).fill('held, done'));
    await eventually(async () => expect((await statuses(outage.redis))['success']).toBe(6));
    expect(worker.repeated).toEqual([]);
    expect(worker.runs).toHaveLength(6);
  });

  it('accepts an enqueue that began while it was down, once', async () => {
    const worker = await outage.actor();
    await outage.server.kill();
    await until(() => !worker.health.connected);
    const calls = Promise.all(
      ['a', 'b', 'c'].map((input) => worker.client.call(work, input, { timeout: '20s' })),
    );
    await outage.server.restart();
    await expect(calls).resolves.toEqual(['a, done', 'b, done', 'c, done']);
    await expect(statuses(outage.redis)).resolves.toEqual({ success: 3 });
  });

  it('is awaited no longer than the deadline', async () => {
    const worker = await outage.actor({ enqueueTimeout: 600 });
    await outage.server.kill();
    // They are sent together, by the deadline of the first.
    const since = performance.now();
    const attempts = [
      () => worker.client.run(work, 'x'),
      () => worker.client.runMany(work, ['x', 'y']),
      () => worker.client.call(work, 'x', { timeout: '20s' }),
    ].map(async (attempt) => {
      await expect(attempt()).rejects.toThrow(EnqueueTimeoutError);
      return performance.now() - since;
    });
    for (const took of await Promise.all(attempts)) {
      figure('server down: enqueue rejects, deadline 600 ms', took);
      expect(took).toBeGreaterThan(580);
      expect(took).toBeLessThan(onThisMachine(1500));
    }
    await outage.server.restart();
    await timeToRun(outage.redis);
    await expect(statuses(outage.redis)).resolves.toEqual({ success: 1 });
  });

  it('keeps waiting calls and observers: they get results and later events', async () => {
    const worker = await outage.actor();
    const observer = await outage.actor({}, { works: false });
    const job = await observer.client.run(work, HELD);
    const events: JobEvent[] = [];
    observer.client.events(work).subscribe((event) => events.push(event));
    const snapshots: string[] = [];
    const watched = new Promise<void>((complete, error) =>
      observer.client.watch(work, job.id).subscribe({
        next: ({ state }) => snapshots.push(state),
        complete,
        error,
      }),
    );
    const progressed = new Promise<void>((complete, error) => job.progress$.subscribe({ complete, error }));
    const result = job.result({ timeout: '20s' });
    await until(() => worker.runs.length === 1 && snapshots.includes('running'));

    await outage.server.kill();
    worker.letGo();
    await until(() => !worker.health.connected && !observer.health.connected);
    await outage.server.restart();

    await expect(result).resolves.toBe('held, done');
    await watched;
    await progressed;
    expect(snapshots.at(-1)).toBe('succeeded');
    const after = await observer.client.run(work, 'after');
    await until(() => events.some(({ id, type }) => id === after.id && type === 'finish'));
    expect(events.filter(({ id }) => id === after.id).map(({ type }) => type)).toEqual([
      'create',
      'start',
      'finish',
    ]);
  });
});

describe('a server that comes back empty', () => {
  const outage = useOutage([]);

  it('gets its workers and jobs again', async () => {
    const worker = await outage.actor();
    await worker.client.call(work, 'before', { timeout: '30s' });
    await outage.server.kill();
    await until(() => !worker.health.connected);
    await outage.server.restart();
    const since = performance.now();
    figure('server back empty: worker resumes', await timeToRun(outage.redis));
    await eventually(async () => expect(await outage.redis.get('count:work')).toBe('1'), { timeout: 15_000 });
    figure('server back empty: count is right', performance.now() - since);
  });

  it('gets its workers again after FLUSHALL', async () => {
    await outage.actor();
    await outage.redis.flushall();
    const since = performance.now();
    await eventually(async () => expect(await outage.redis.get('count:work')).toBe('1'), { timeout: 15_000 });
    figure('FLUSHALL: count is right', performance.now() - since);
    figure('FLUSHALL: worker resumes', await timeToRun(outage.redis));
  });
});
