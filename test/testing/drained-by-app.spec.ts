import { describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Worker, defineJob } from 'nestjs-gearmonkey';
import { SERVERS, useTesting } from './use-testing.js';

const mail = defineJob<string, string>('mail');

@Injectable()
class Handlers {
  @Worker(mail)
  mail(to: string) {
    return `got ${to}`;
  }
}

describe.each(SERVERS)('A test with jobs in %s that the app removes', (server) => {
  const testing = useTesting(server);

  it('does not run them, and knows that they have failed', async () => {
    const jobs = await testing.jobs({ providers: [Handlers] });
    const [now, later] = [await jobs.run(mail, 'ada'), await jobs.run(mail, 'grace', { delay: '1h' })];
    await expect(jobs.drain(mail, { states: ['scheduled'] })).resolves.toBe(1);
    await expect(jobs.test.drain({ scheduled: true })).resolves.toEqual({ done: 1, failed: 0, retried: 0 });
    await expect(now.result()).resolves.toBe('got ada');
    await expect(later.result()).rejects.toMatchObject({ cause: { code: 'JOB_DRAINED' } });
  });
});
