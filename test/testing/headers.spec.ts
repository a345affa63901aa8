import { describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Worker, type RunningJob } from 'nestjs-gearmonkey';
import { SERVERS, useTesting } from './use-testing.js';

@Injectable()
class Handlers {
  @Worker('tell')
  tell(_: unknown, job: RunningJob) {
    return { ...job.headers };
  }
}

describe.each(SERVERS)('Headers of jobs in a test, in %s', (server) => {
  const testing = useTesting(server);
  const start = () =>
    testing.jobs({ providers: [Handlers] }, { headers: () => ({ tenant: 'acme', locale: undefined }) });

  it('are those of the module and of the call, also in perform', async () => {
    const { test } = await start();
    await expect(test.perform('tell', 1)).resolves.toMatchObject({ output: { tenant: 'acme' } });
    const job = await test.perform('tell', 1, { headers: { tenant: 'other', locale: 'de' }, attempt: 2 });
    expect(job).toMatchObject({ attempts: 2, output: { tenant: 'other', locale: 'de' } });
    expect(job.headers).toEqual({ tenant: 'other', locale: 'de' });
    await expect(test.perform('tell', 1, { headers: { a: 1 as never } })).rejects.toThrow(
      'Expected `headers.a`',
    );
  });

  it('are seen and matched in what was enqueued', async () => {
    const jobs = await start();
    await jobs.run('tell', 1, { headers: { locale: 'de' } });
    expect(jobs.test.enqueued('tell')).toMatchObject([{ headers: { tenant: 'acme', locale: 'de' } }]);
    jobs.test.assert('tell', { headers: { tenant: 'acme' } });
    jobs.test.refute('tell', { headers: { locale: 'en' } });
    expect(() => jobs.test.assert('tell', { headers: { locale: 'en', tenant: expect.any(Number) } })).toThrow(
      [
        'No job of "tell" was enqueued with { headers: { locale: \'en\', tenant: Any<Number> } }.',
        'These were:',
        "  tell 1: 1, priority 'normal', headers { tenant: 'acme', locale: 'de' }, runs at once",
        "      headers.locale is 'de' instead of 'en'",
        "      headers.tenant is 'acme' instead of Any<Number>",
      ].join('\n'),
    );
  });
});
