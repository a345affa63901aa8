/** @isolated All timers are fake, also those of the process. */
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { GearMonkeyClient, Worker } from 'nestjs-gearmonkey';
import { GearMonkeyTestClient } from 'nestjs-gearmonkey/testing';
import { SERVERS, useTesting } from './use-testing.js';

const BEGIN = '2027-01-01T00:00:00.000Z';

@Injectable()
class Handlers {
  readonly ran: string[] = [];

  constructor(private readonly jobs: GearMonkeyClient) {}

  every(ms: number, text: string, delay?: string): NodeJS.Timeout {
    return setInterval(() => void this.jobs.run('note', text, delay ? { delay } : {}), ms);
  }

  @Worker('note')
  note(text: string) {
    this.ran.push(`${new Date().toISOString().slice(11, 19)} ${text}`);
  }

  @Worker('hangs')
  hangs() {
    return new Promise(() => undefined);
  }
}

describe.each(SERVERS)('Fake timers and the clock of a test, in %s', (server) => {
  const testing = useTesting(server);
  /** A connection needs these. */
  const doNotFake = server === 'memory' ? [] : (['nextTick', 'queueMicrotask', 'setImmediate'] as const);
  const fake = (now?: string) =>
    jest.useFakeTimers({ doNotFake: [...doNotFake], ...(now ? { now: new Date(now) } : {}) });
  afterEach(() => void jest.useRealTimers());

  const start = async (options: object) => {
    const module = await testing.start({ providers: [Handlers] }, options);
    return { module, jobs: module.get(GearMonkeyTestClient), handlers: module.get(Handlers) };
  };

  it('run what timers of the app enqueue, each job at its time', async () => {
    fake(BEGIN);
    const { jobs, handlers } = await start({ timers: jest });
    const timers = [handlers.every(20 * 60_000, 'a', '1m'), handlers.every(30 * 60_000, 'b')];
    await expect(jobs.test.advance('1h')).resolves.toEqual({ done: 4, failed: 0, retried: 0 });
    expect(handlers.ran).toEqual(['00:21:00 a', '00:30:00 b', '00:41:00 a', '01:00:00 b']);
    expect(jobs.test.enqueued('note', { input: 'a' }).map(({ created }) => created)).toEqual(
      [20, 40, 60].map((minutes) => new Date(Date.parse(BEGIN) + minutes * 60_000)),
    );
    for (const timer of timers) clearInterval(timer);
    await expect(jobs.test.drain({ scheduled: true })).resolves.toMatchObject({ done: 1 });
    expect(new Date()).toEqual(jobs.test.now);
  });

  it('agree from the start, and over any span', async () => {
    fake();
    const now = new Date('2030-01-01');
    const { jobs } = await start({ timers: jest, now });
    expect([new Date(), jobs.test.now]).toEqual([now, now]);
    await jobs.test.advance('10 years');
    expect(new Date()).toEqual(jobs.test.now);
    await jobs.test.setTime(new Date('2026-01-01'));
    expect(new Date()).toEqual(new Date('2026-01-01'));
  });

  it('agree again after fake timers were enabled later', async () => {
    const { jobs } = await start({ timers: jest });
    fake('2026-05-05T00:00:00Z');
    await jobs.test.advance('1m');
    expect(new Date()).toEqual(jobs.test.now);
  });

  it('may be given up on, with a timer that sets itself again and again', async () => {
    fake(BEGIN);
    const { jobs } = await start({ timers: jest });
    let timer: NodeJS.Timeout;
    const again = () => (timer = setTimeout(again, 0));
    again();
    await expect(jobs.test.advance('1h', { timeout: 100 })).rejects.toThrow(
      'advance waited 100 ms, and its clock is at 2027-01-01T00:00',
    );
    clearTimeout(timer!);
  });

  it('let an app close, also one with a handler that hangs', async () => {
    const { module, jobs } = await start({});
    await jobs.run('hangs', 1);
    await expect(jobs.test.drain({ timeout: 20 })).rejects.toThrow('hangs 1 still runs');
    fake();
    await module.close();
  });
});

describe('Fake timers that replace what a connection to Redis needs', () => {
  const testing = useTesting('Redis');
  afterEach(() => void jest.useRealTimers());

  it('are named by an app that starts', async () => {
    jest.useFakeTimers();
    await expect(testing.jobs({})).rejects.toMatchObject({
      code: 'JOB_TESTING',
      message: expect.stringContaining('doNotFake'),
    });
  });
});

describe('Timers that are not fake', () => {
  const testing = useTesting();

  it('are refused where the clock should move them', async () => {
    const warn = jest.spyOn(console, 'warn').mockImplementation(() => undefined);
    const { test } = await testing.jobs({}, { timers: jest });
    await expect(test.advance('1m')).rejects.toMatchObject({
      code: 'JOB_TESTING',
      message: expect.stringContaining('Call jest.useFakeTimers() or vi.useFakeTimers() first'),
    });
    warn.mockRestore();
  });
});
