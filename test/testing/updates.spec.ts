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

describe.each(SERVERS)('A test with jobs in %s that the app updates', (server) => {
  const testing = useTesting(server);
  const NOW = new Date('2027-01-01T10:00:00Z');

  it('knows what was changed', async () => {
    const jobs = await testing.jobs({ providers: [Handlers] }, { now: NOW });
    const job = await jobs.run(mail, 'ada', { delay: '1h', expires: '1d' });
    await job.update({ input: 'grace', priority: 'high' });
    const [first] = jobs.test.enqueued(mail);
    expect(first).toMatchObject({ input: 'grace', priority: 'high', created: NOW });
    expect(first?.scheduled).toBeUndefined();
    await jobs.update(mail, job.id, { delay: '2h' });
    const scheduled = new Date('2027-01-01T12:00:00Z');
    expect(jobs.test.enqueued(mail)).toMatchObject([{ input: 'grace', priority: 'scheduled', scheduled }]);
    await expect(job.get()).resolves.toMatchObject({ input: 'grace', times: { scheduled } });
    await jobs.test.advance('1h');
    await expect(job.get()).resolves.toMatchObject({ state: 'scheduled' });
    await jobs.test.advance('1h');
    await expect(job.result()).resolves.toBe('got grace');
    await expect(job.update({ input: 'late' })).rejects.toMatchObject({ code: 'JOB_BEGUN' });
    expect(jobs.test.enqueued(mail)).toMatchObject([{ input: 'grace' }]);
  });
});
