import { describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Worker, defineJob } from 'nestjs-gearmonkey';
import { SERVERS, useTesting } from './use-testing.js';

const mail = defineJob<string, string>('mail');
const other = defineJob<string, string>('other');

@Injectable()
class Handlers {
  @Worker(mail)
  mail(to: string) {
    return `got ${to}`;
  }

  @Worker(other)
  other(input: string) {
    return input;
  }
}

describe.each(SERVERS)('A test with a paused function and jobs in %s', (server) => {
  const testing = useTesting(server);

  it('runs its jobs once it is resumed, and those of other functions before', async () => {
    const jobs = await testing.jobs({ providers: [Handlers] });
    await jobs.pause(mail);
    const [now, later] = [await jobs.run(mail, 'ada'), await jobs.run(mail, 'grace', { delay: '1h' })];
    await jobs.run(other, 'x');
    await expect(jobs.test.drain({ scheduled: true })).resolves.toEqual({ done: 1, failed: 0, retried: 0 });
    await expect(jobs.test.advance('2h')).resolves.toEqual({ done: 0, failed: 0, retried: 0 });
    await expect(now.get()).resolves.toMatchObject({ state: 'waiting', attempts: 0 });
    await jobs.resume(mail);
    await expect(jobs.isPaused(mail)).resolves.toBe(false);
    await expect(jobs.test.drain()).resolves.toEqual({ done: 2, failed: 0, retried: 0 });
    await expect(Promise.all([now.result(), later.result()])).resolves.toEqual(['got ada', 'got grace']);
  });

  it('ends a wait of a call when the function is resumed', async () => {
    const jobs = await testing.jobs({ providers: [Handlers] });
    await jobs.pause(mail);
    const calling = jobs.call(mail, 'ada');
    await jobs.test.drain();
    await jobs.resume(mail);
    await jobs.test.drain();
    await expect(calling).resolves.toBe('got ada');
  });
});
