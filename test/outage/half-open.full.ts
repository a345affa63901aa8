import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { EnqueueTimeoutError } from '../../lib/index.js';
import { SlowLine } from '../support/slow-line.js';
import { eventually, until } from '../support/until.js';
import { HELD, figure, statuses, timeToRun, useOutage, work } from './outage-rig.js';
import { onThisMachine } from '../support/machine.js';

describe('connections that fall silent', () => {
  const outage = useOutage();
  let proxy: SlowLine;
  beforeEach(async () => {
    proxy = await SlowLine.start(outage.server.port);
  });
  afterEach(() => proxy.stop());

  it('are replaced by the worker', async () => {
    const worker = await outage.actor({ connection: proxy.url });
    await worker.client.call(work, 'before', { timeout: '30s' });
    proxy.freezeOpenOnes();
    figure('half-open connections: worker resumes', await timeToRun(outage.redis));
    await until(() => worker.health.connected);
  });

  it('do not stop an enqueue, which creates its job once', async () => {
    const observer = await outage.actor({ connection: proxy.url }, { works: false });
    const worker = await outage.actor();
    await observer.client.call(work, 'before', { timeout: '30s' });
    proxy.freezeOpenOnes();
    const since = performance.now();
    const jobs = await observer.client.runMany(work, ['a', 'b']);
    figure('half-open connections: enqueue acknowledged', performance.now() - since);
    await expect(Promise.all(jobs.map((job) => job.result({ timeout: '30s' })))).resolves.toHaveLength(2);
    // What was held back arrives now: the same calls, which find that they were made.
    proxy.heal();
    await observer.client.call(work, 'after', { timeout: '5s' });
    await eventually(async () => expect((await statuses(outage.redis))['success']).toBe(4));
    expect(worker.repeated).toEqual([]);
    expect(worker.runs).toHaveLength(4);
  });

  it('do not prevent a waiting call from getting a result whose message it missed', async () => {
    const observer = await outage.actor({ connection: proxy.url }, { works: false });
    const worker = await outage.actor();
    const job = await observer.client.run(work, HELD);
    const result = job.result({ timeout: '20s' });
    const seen: string[] = [];
    const watched = new Promise<void>((complete, error) =>
      observer.client
        .watch(work, job.id)
        .subscribe({ next: ({ state }) => seen.push(state), complete, error }),
    );
    const progressed = new Promise<void>((complete, error) => job.progress$.subscribe({ complete, error }));
    const called = observer.client.call(work, HELD, { timeout: '20s' });
    await until(() => worker.runs.length === 2 && seen.includes('running'));

    proxy.freezeOpenOnes();
    worker.letGo();
    await eventually(async () => expect((await statuses(outage.redis))['success']).toBe(2));
    const since = performance.now();
    await expect(result).resolves.toBe('held, done');
    await expect(called).resolves.toBe('held, done');
    await watched;
    await progressed;
    figure('half-open connections: who waits learns of a finish it missed', performance.now() - since);
    expect(seen.at(-1)).toBe('succeeded');
  });
});

describe('a network that drops all packets', () => {
  const outage = useOutage();
  let proxy: SlowLine;
  beforeEach(async () => {
    proxy = await SlowLine.start(outage.server.port);
  });
  afterEach(() => proxy.stop());

  it('is reported by health, ends enqueues at their deadline, and has no effect afterwards', async () => {
    const worker = await outage.actor({ connection: proxy.url, enqueueTimeout: 1000 });
    await worker.client.call(work, 'before', { timeout: '30s' });
    proxy.separate('swallowed');
    const since = performance.now();
    await expect(worker.client.run(work, 'x')).rejects.toThrow(EnqueueTimeoutError);
    expect(performance.now() - since).toBeLessThan(onThisMachine(2000));
    await until(() => !worker.health.connected);
    figure('everything swallowed: health says not connected', performance.now() - since);
    proxy.heal();
    figure('everything swallowed: worker resumes', await timeToRun(outage.redis));
    await until(() => worker.health.connected);
  });

  it('loses no job and runs none twice if it lasts less than a lease', async () => {
    const worker = await outage.actor({ connection: proxy.url });
    const other = await outage.actor();
    const held = await Promise.all(Array.from({ length: 16 }, () => other.client.run(work, HELD)));
    await until(() => worker.runs.length + other.runs.length === 16 && worker.runs.length > 0);
    proxy.separate('swallowed');
    await until(() => !worker.health.connected);
    worker.letGo();
    other.letGo();
    proxy.heal();
    await expect(Promise.all(held.map((job) => job.result({ timeout: '20s' })))).resolves.toHaveLength(16);
    expect([...worker.runs, ...other.runs].toSorted()).toEqual(held.map(({ id }) => id).toSorted());
  });

  it('moves jobs of a worker that is cut off for longer than a lease to another, and refuses its results', async () => {
    const lost = await outage.actor({ connection: proxy.url, lease: '2s' });
    const job = await lost.client.run(work, HELD);
    await eventually(() => expect(lost.runs).toHaveLength(1));
    const other = await outage.actor({ lease: '2s' });
    await until(() => other.health.lastReplyAt);
    proxy.separate('swallowed');
    const since = performance.now();
    await eventually(() => expect(other.runs).toContain(job.id), { timeout: 15_000 });
    figure('worker cut off, lease of 2 s: its job runs elsewhere', performance.now() - since);
    other.letGo();
    await expect(other.client.result(work, job.id, { timeout: '10s' })).resolves.toBe('held, done');
    const settled = await outage.redis.hgetall(`job:work:${job.id}`);
    lost.letGo();
    proxy.heal();
    figure('worker cut off: it resumes', await timeToRun(outage.redis));
    await until(() => lost.health.connected);
    await lost.client.call(work, 'after', { timeout: '10s' });
    await expect(outage.redis.hgetall(`job:work:${job.id}`)).resolves.toEqual(settled);
  });
});
