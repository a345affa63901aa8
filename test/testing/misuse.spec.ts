import { describe, expect, it } from '@jest/globals';
import { Injectable, Module } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { GearMonkeyModule, Worker, defineJob } from 'nestjs-gearmonkey';
import {
  GearMonkeyTestClient,
  GearMonkeyTestingModule,
  gearMonkeyMatchers,
  testJobsOf,
} from 'nestjs-gearmonkey/testing';
import { SERVERS, useTesting } from './use-testing.js';

const mail = defineJob<{ to: string }>('mail');

@Injectable()
class Handlers {
  @Worker(mail)
  mail() {}
}

@Module({ imports: [GearMonkeyModule.forRoot({ connection: 'redis://127.0.0.1:1' })] })
class AppModule {}

@Module({})
class NoJobs {}

describe.each(SERVERS)('A wrong call, in %s', (server) => {
  const testing = useTesting(server);

  it('is no assertion that passes: of a priority, an id or a definition that is none', async () => {
    const jobs = await testing.jobs({ providers: [Handlers] });
    const { test } = jobs;
    await jobs.run(mail, { to: 'ada' });
    expect(() => test.refute(mail, { priority: 'nrmal' as never })).toThrow('Expected `priority`');
    expect(() => test.refute(mail, { id: {} as never })).toThrow('Expected `id`');
    expect(() => test.refute(mail, { id: 1 })).toThrow('none was expected');
    const none = undefined as never;
    expect(() => test.assert(none)).toThrow('Expected a function name');
    expect(() => test.refute(none)).toThrow('Expected a function name');
    expect(() => test.enqueued(none)).toThrow('Expected a function name');
    expect(() => gearMonkeyMatchers.toHaveEnqueued(jobs, none)).toThrow('Expected a function name');
    expect(test.enqueued()).toHaveLength(1);
  });

  it('names a job that the test does not have, or that has ended', async () => {
    const jobs = await testing.jobs({ providers: [Handlers] });
    const { test } = jobs;
    const job = await jobs.run(mail, { to: 'ada' });
    await expect(test.loseLease({ fn: 'mail', id: '99' })).rejects.toMatchObject({
      code: 'JOB_TESTING',
      message: expect.stringContaining('This test has no job mail 99.'),
    });
    for (const wrong of [undefined, null, 1, {}])
      await expect(test.cancelDuring(wrong as never)).rejects.toThrow('Expected `job`');
    await test.drain();
    await expect(test.loseLease(job)).rejects.toThrow("mail 1 is done and doesn't run any more.");
    await expect(test.cancelDuring('1')).rejects.toMatchObject({ code: 'JOB_TESTING' });
    const cancelled = await jobs.run(mail, { to: 'eve' });
    await cancelled.cancel();
    await expect(test.cancelDuring(cancelled)).rejects.toThrow("mail 2 is failed and doesn't run any more.");
  });

  it('names a function without a handler', async () => {
    const { test } = await testing.jobs({ providers: [Handlers] });
    expect(() => test.failNext('male', new Error('no'))).toThrow(
      'No handler runs "male" in this app (known: "mail")',
    );
  });

  it('is refused after the app was closed', async () => {
    const module = await testing.start({ providers: [Handlers] });
    const jobs = module.get(GearMonkeyTestClient);
    const { test } = jobs;
    await jobs.run(mail, { to: 'ada' });
    await module.close();
    expect(test.enqueued(mail)).toHaveLength(1);
    const refused = { code: 'JOB_TESTING', message: expect.stringContaining('the app is closed') };
    for (const call of [
      () => test.until(mail, {}, 'enqueued'),
      () => test.loseLease('1'),
      () => test.cancelDuring('1'),
      () => test.clear(),
      () => test.drain(),
      () => test.perform(mail, { to: 'ada' }),
      async () => test.failNext(mail, new Error('no')),
    ])
      await expect(call()).rejects.toMatchObject(refused);
  });

  it('is a time that no clock can show, or at which nothing would run', async () => {
    const jobs = await testing.jobs({ providers: [Handlers] });
    const { test } = jobs;
    await expect(test.setTime(new Date('1969-12-31'))).rejects.toThrow(
      'Expected `date` to be a Date from 1970',
    );
    await expect(test.setTime(new Date(8.64e15))).rejects.toThrow('Expected `date`');
    await test.setTime(new Date('9998-12-31'));
    await expect(test.advance('1 year')).rejects.toThrow('Expected `span`');
    await test.setTime(new Date(0));
    const job = await jobs.run(mail, { to: 'ada' });
    await expect(test.drain()).resolves.toMatchObject({ done: 1 });
    await expect(job.get()).resolves.toMatchObject({ times: { created: new Date(0), finished: test.now } });
  });
});

describe('Wrong imports', () => {
  const testing = useTesting();
  const compile = (...imports: never[]) => Test.createTestingModule({ imports }).compile();

  it('are told what to import', async () => {
    await expect(compile(GearMonkeyTestingModule as never)).rejects.toMatchObject({
      code: 'JOB_TESTING',
      message: expect.stringContaining('Import GearMonkeyTestingModule.forRoot(), or .override(AppModule)'),
    });
    await expect(
      compile(GearMonkeyTestingModule.forRoot() as never, AppModule as never),
    ).rejects.toMatchObject({
      code: 'CONFIGURATION',
      message: expect.stringContaining(
        'use GearMonkeyTestingModule.override(AppModule) instead of forRoot()',
      ),
    });
    expect(() => GearMonkeyTestingModule.override([AppModule] as never)).toThrow('Expected `app`');
    for (const instances of ['ab', [], [1]])
      expect(() => GearMonkeyTestingModule.forRoot({ instances: instances as never })).toThrow(
        'Expected `instances`',
      );
    const alone = testing.closing(await compile());
    expect(() => testJobsOf(alone)).toThrow('This app runs without GearMonkeyTestingModule.');
    const without = testing.closing(await compile(GearMonkeyTestingModule.override(NoJobs) as never));
    expect(() => testJobsOf(without)).toThrow('it imports no GearMonkeyModule');
  });

  it('are told of a Redis that is none, without its password', async () => {
    for (const redis of ['localhost:6379', 'secret@host', 'http://secret@host', 5]) {
      const compiled = compile(GearMonkeyTestingModule.forRoot({ redis: redis as never }) as never);
      await expect(compiled).rejects.toMatchObject({ code: 'CONFIGURATION' });
      await expect(compiled).rejects.toThrow('GEARMONKEY_TEST_REDIS');
      await expect(compiled).rejects.not.toThrow('secret');
    }
  });
});
