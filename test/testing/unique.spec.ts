import { afterEach, describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Worker, defineJob } from 'nestjs-gearmonkey';
import { SERVERS, useTesting } from './use-testing.js';

const search = defineJob<{ text: string }>('search', {
  unique: { key: () => 'search', debounce: '10s', maxWait: '25s' },
});
const report = defineJob<string>('report', { unique: { key: (day) => day, throttle: '1m' } });
const sync = defineJob<string>('sync', { unique: { key: 'sync' } });
const ran: unknown[] = [];

@Injectable()
class Handlers {
  @Worker(search)
  search({ text }: { text: string }) {
    ran.push(text);
  }

  @Worker(report)
  report(day: string) {
    ran.push(day);
    return `report of ${day}`;
  }

  @Worker(sync)
  sync(text: string) {
    ran.push(text);
  }
}

describe.each(SERVERS)('Unique jobs of a test, in %s', (server) => {
  const testing = useTesting(server);
  afterEach(() => void ran.splice(0));
  const start = () => testing.jobs({ providers: [Handlers] }, { patience: 20 });

  it('are debounced by its clock, and have the last input and time', async () => {
    const jobs = await start();
    const first = await jobs.run(search, { text: 'a' });
    await jobs.test.advance('9s');
    const second = await jobs.run(search, { text: 'ab' }, { headers: { tenant: 'acme' } });
    expect([second.id, second.created]).toEqual([first.id, false]);
    expect(jobs.test.enqueued(search)).toMatchObject([
      { input: { text: 'ab' }, headers: { tenant: 'acme' } },
    ]);
    const begin = jobs.test.enqueued(search)[0]?.created.getTime() ?? 0;
    jobs.test.assert(search, { input: { text: 'ab' }, scheduled: new Date(begin + 19_000) });
    await jobs.test.advance('9s');
    await jobs.run(search, { text: 'abc' });
    jobs.test.assert(search, { input: { text: 'abc' }, in: '25s' });
    await expect(jobs.test.advance('8s')).resolves.toMatchObject({ done: 1 });
    expect(ran).toEqual(['abc']);
    await expect(jobs.run(search, { text: 'next' })).resolves.toMatchObject({ id: '2', created: true });
  });

  it('are throttled by its clock', async () => {
    const jobs = await start();
    const first = await jobs.run(report, 'monday');
    await jobs.test.drain();
    await jobs.test.advance('59s');
    await expect(jobs.run(report, 'monday')).resolves.toMatchObject({ id: first.id, created: false });
    await expect(jobs.call(report, 'monday')).resolves.toBe('report of monday');
    await expect(jobs.run(report, 'tuesday')).resolves.toMatchObject({ id: '2', created: true });
    await jobs.test.advance('1s');
    await expect(jobs.run(report, 'monday')).resolves.toMatchObject({ id: '3', created: true });
    expect(jobs.test.enqueued(report).map(({ input }) => input)).toEqual(['monday', 'tuesday', 'monday']);
  });

  it('are recorded once, and again when the first has ended', async () => {
    const jobs = await start();
    for (const text of ['a', 'b']) await jobs.run(sync, text);
    expect(jobs.test.enqueued(sync)).toMatchObject([{ input: 'a' }]);
    await expect(jobs.test.drain()).resolves.toEqual({ done: 1, failed: 0, retried: 0 });
    await jobs.run(sync, 'c');
    jobs.test.failNext(sync, new Error('no'));
    await jobs.test.drain();
    await jobs.run(sync, 'd');
    await jobs.test.drain();
    expect(ran).toEqual(['a', 'd']);
  });

  it('are forgotten by `clear`, and run by `perform` in any case', async () => {
    const jobs = await start();
    await jobs.run(sync, 'a');
    await jobs.run(report, 'monday');
    await expect(jobs.test.perform(sync, 'performed')).resolves.toMatchObject({ state: 'succeeded' });
    await expect(jobs.run(sync, 'b')).resolves.toMatchObject({ created: false });
    await jobs.test.clear();
    for (const again of [await jobs.run(sync, 'c'), await jobs.run(report, 'monday')])
      expect(again.created).toBe(true);
    await jobs.test.drain();
    expect(ran.sort()).toEqual(['c', 'monday', 'performed']);
  });
});
