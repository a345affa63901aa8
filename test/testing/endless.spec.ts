import { describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { GearMonkeyClient, Worker } from 'nestjs-gearmonkey';
import { GearMonkeyTestClient, JobTestTimeoutError } from 'nestjs-gearmonkey/testing';
import { eventually } from '../support/until.js';
import { SERVERS, useTesting } from './use-testing.js';

@Injectable()
class Handlers {
  readonly ran: unknown[] = [];

  constructor(private readonly jobs: GearMonkeyClient) {}

  @Worker('loop')
  async loop(round: number) {
    await this.jobs.run('loop', round + 1);
  }

  @Worker('daily')
  async daily(day: number) {
    this.ran.push(day);
    await this.jobs.run('daily', day + 1, { delay: '1 day' });
  }

  @Worker('hangs')
  hangs(round: number) {
    this.ran.push(`hangs ${round}`);
    return new Promise(() => undefined);
  }

  @Worker('note', { concurrency: 3 })
  note(input: unknown) {
    this.ran.push(input);
  }
}

describe.each(SERVERS)('Jobs without end, in %s', (server) => {
  const testing = useTesting(server);
  const start = async (options = {}) => {
    const module = await testing.start({ providers: [Handlers] }, options);
    const jobs = module.get(GearMonkeyTestClient);
    return { module, jobs, test: jobs.test, ran: module.get(Handlers).ran };
  };

  it('end what waits for them, which says that they did not', async () => {
    const { jobs, test } = await start();
    await jobs.run('loop', 1);
    await expect(test.drain()).resolves.toMatchObject({ done: 1 });
    const drained = test.drain({ recursive: true, timeout: 100 });
    await expect(drained).rejects.toThrow(JobTestTimeoutError);
    await expect(drained).rejects.toThrow(
      /drain waited 100 ms, and loop \d+ still (runs|waits) after \d+ runs?\./,
    );
    await expect(drained).rejects.toThrow('If jobs enqueue others without end, drain() runs only');
    await expect(test.advance('1s', { timeout: 100 })).rejects.toThrow('advance waited 100 ms, and loop');
    await expect(test.setTime(new Date(test.now.getTime() + 1), { timeout: 100 })).rejects.toThrow(
      'setTime waited 100 ms, and loop',
    );
  });

  it('leave room for timers when workers run by themselves', async () => {
    const { module, jobs } = await start({ mode: 'auto' });
    await jobs.run('loop', 1);
    await new Promise((resolve) => setTimeout(resolve, 1));
    await module.close();
  });

  it('let a drain of all that is scheduled end by its time limit', async () => {
    const { jobs, test } = await start();
    await jobs.run('daily', 1);
    await expect(test.drain({ scheduled: true, recursive: true, timeout: 100 })).rejects.toThrow(
      'drain waited 100 ms',
    );
  });

  it('run as often as there is time for', async () => {
    const { jobs, test, ran } = await start();
    await jobs.run('daily', 1);
    await expect(test.advance('30 days')).resolves.toMatchObject({ done: 31 });
    expect(ran).toEqual(Array.from({ length: 31 }, (_, index) => index + 1));
  });

  it('keep no slot after a clear', async () => {
    const { jobs, test, ran } = await start();
    await jobs.run('hangs', 1);
    await expect(test.drain({ timeout: 20 })).rejects.toThrow('hangs 1 still runs');
    await eventually(() => expect(ran).toEqual(['hangs 1']));
    await test.clear();
    await jobs.run('hangs', 2);
    await expect(test.drain({ timeout: 20 })).rejects.toThrow('hangs 2 still runs');
    await eventually(() => expect(ran).toEqual(['hangs 1', 'hangs 2']));
  });

  it('run in the order of their creation if they are due at the same time', async () => {
    const { jobs, test, ran } = await start();
    const numbers = Array.from({ length: 12 }, (_, index) => index + 1);
    for (const number of numbers) await jobs.run('note', number, { delay: '1h' });
    await test.advance('1h');
    expect(ran).toEqual(numbers);
  });
});

describe('A test of many jobs', () => {
  const testing = useTesting();

  it('takes as long for each as one of a few', async () => {
    const jobs = await testing.jobs({ providers: [Handlers] });
    const cpu = async (count: number) => {
      const inputs = Array.from({ length: count }, (_, index) => index);
      await jobs.runMany('note', inputs, { delay: '1h' });
      await jobs.runMany('note', inputs);
      const before = process.cpuUsage();
      await expect(jobs.test.advance('1h', { timeout: '1m' })).resolves.toMatchObject({ done: 2 * count });
      const { user, system } = process.cpuUsage(before);
      return (user + system) / count;
    };
    await cpu(250);
    const few = await cpu(250);
    expect((await cpu(2000)) / few).toBeLessThan(4);
  });
});
