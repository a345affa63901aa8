import { describe, expect, it } from '@jest/globals';
import { claimOne, claimUpTo, failure, released, retry, success } from '../../contract/claiming.js';
import { runWorker } from '../../support/run-worker.js';
import { eventually, until } from '../../support/until.js';
import { useSource } from './use-source.js';

const used = useSource();

describe('an outcome', () => {
  it('of success adds the result to the history, and keeps the data', async () => {
    await used.client.queue('q').put('K', { to: 'ada' }, { jid: 'a' });
    const source = await used.open();
    await source.settle([success(await claimOne(source, 'K'), '"sent"')]);
    const job = await used.client.jobs.get('a');
    expect(job).toMatchObject({ state: 'complete', data: { to: 'ada' } });
    expect(job?.record.history).toMatchObject([
      { what: 'put' },
      { what: 'popped' },
      { what: 'returned', output: '"sent"' },
      { what: 'done' },
    ]);
  });

  it('of failure files the job under its klass and the name of the error', async () => {
    await used.client.queue('q').put('K', {}, { jid: 'a' });
    const source = await used.open();
    await source.settle([failure(await claimOne(source, 'K'), 'no disk')]);
    await expect(used.client.jobs.failures()).resolves.toEqual({ 'K:Error': 1 });
    await expect(used.client.jobs.failed('K:Error')).resolves.toEqual({ total: 1, jobs: ['a'] });
    await expect(used.client.jobs.get('a')).resolves.toMatchObject({
      record: { failure: { message: 'no disk' } },
    });
  });

  it('to be retried schedules the job, until it has no retries left', async () => {
    await used.client.queue('q').put('K', {}, { jid: 'a', retries: 1 });
    const source = await used.open();
    await source.settle([retry(await claimOne(source, 'K'), 3_600_000)]);
    await expect(used.client.jobs.get('a')).resolves.toMatchObject({
      state: 'scheduled',
      record: { remaining: 0, failure: { group: 'K:Error', message: 'not yet' } },
    });
    await used.client.queue('q').put('K', {}, { jid: 'b', retries: 0 });
    await source.settle([retry(await claimOne(source, 'K'), 1)]);
    await expect(used.client.jobs.get('b')).resolves.toMatchObject({ state: 'failed' });
  });

  it('of failure ends the job if its claim was the last', async () => {
    await used.client.queue('q').put('K', {}, { jid: 'a', retries: 1 });
    const source = await used.open();
    const first = await claimOne(source, 'K');
    await source.settle([retry(first, 0)]);
    const second = await claimOne(source, 'K');
    await source.settle([retry(second, 0)]);
    expect([first.isLast, second.isLast]).toEqual([false, true]);
    await expect(used.client.jobs.get('a')).resolves.toMatchObject({ state: 'failed' });
  });

  it('to be retried has its delay', async () => {
    await used.client.queue('q').put('K', {}, { jid: 'a' });
    const source = await used.open();
    const before = Date.now();
    await source.settle([retry(await claimOne(source, 'K'), 60_000)]);
    const due = 1000 * Number(await used.redis.zscore('ql:q:q-scheduled', 'a'));
    // The server's clock is in microseconds.
    expect(due).toBeGreaterThan(before + 59_999);
    expect(due).toBeLessThan(Date.now() + 60_001);
  });

  it('of an earlier run of the same worker is refused', async () => {
    await used.client.queue('q').put('K', {}, { jid: 'a' });
    const source = await used.open();
    const first = await claimOne(source, 'K');
    await source.settle([released(first)]);
    const second = await claimOne(source, 'K');
    await expect(source.progress(first, 1, 2)).resolves.toBe(false);
    await source.settle([success(first)]);
    await expect(used.client.jobs.get('a')).resolves.toMatchObject({ state: 'running' });
    await expect(source.settle([success(second)])).resolves.toEqual([]);
  });

  it('that is sent again is accepted again', async () => {
    await used.client.queue('q').put('K', {}, { jid: 'a' });
    const source = await used.open();
    const claim = await claimOne(source, 'K');
    await expect(source.settle([success(claim)])).resolves.toEqual([]);
    await expect(source.settle([success(claim)])).resolves.toEqual([]);
  });

  it('of a release puts jobs before others of their priority, in their order', async () => {
    const queue = used.client.queue('q');
    const jids = await queue.putMany(['a', 'b', 'c', 'd'].map((jid) => ({ klass: 'K', jid })));
    await queue.put('K', {}, { jid: 'higher', priority: 1, delay: 1 });
    await until(async () => (await queue.counts()).scheduled === 0 || (await queue.peek(9)).length === 5);
    const source = await used.open();
    const claims = await claimUpTo(source, 'K', 3);
    expect(claims.map(({ id }) => id)).toEqual(['higher', 'a', 'b']);
    for (const claim of claims.toReversed()) await source.settle([released(claim)]);
    await expect(queue.jids('waiting')).resolves.toEqual(['higher', ...jids]);
    await expect(used.client.jobs.get('a')).resolves.toMatchObject({
      state: 'waiting',
      record: { remaining: 5, worker: '' },
    });
  });
});

describe('progress', () => {
  it('goes into the history, one item however many reports', async () => {
    await used.client.queue('q').put('K', {}, { jid: 'a' });
    await runWorker(await used.open(), 'K', async (_, job) => {
      for (let part = 1; part <= 200; part++) await job.update(part, 200);
    });
    await eventually(async () => expect((await used.client.jobs.get('a'))?.state).toBe('complete'));
    await expect(used.historyOf('a')).resolves.toEqual(['put', 'popped', 'progress', 'done']);
    expect((await used.client.jobs.get('a'))?.record.history[2]).toMatchObject({
      dividend: 200,
      divisor: 200,
    });
  });
});
