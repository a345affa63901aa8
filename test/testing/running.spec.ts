import { describe, expect, it } from '@jest/globals';
import {
  Injectable,
  ParseIntPipe,
  UseFilters,
  UseGuards,
  UseInterceptors,
  type CallHandler,
  type CanActivate,
  type ExceptionFilter,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import { map, type Observable } from 'rxjs';
import { z } from 'zod';
import {
  GearMonkeyClient,
  GearMonkeyWorkers,
  Input,
  RetryLaterError,
  Worker,
  defineJob,
  progress,
  type RunningJob,
} from 'nestjs-gearmonkey';
import { JobTestTimeoutError, JobTestingError } from 'nestjs-gearmonkey/testing';
import { Test } from '@nestjs/testing';
import { GearMonkeyTestClient, GearMonkeyTestingModule } from 'nestjs-gearmonkey/testing';
import { MEMORY_AND_REDIS, useTesting } from './use-testing.js';

const mail = defineJob('mail', {
  input: z.object({ to: z.string(), copies: z.number().default(1) }),
  output: z.string(),
});
const flaky = defineJob<{ until: number }, number>('flaky', {
  retry: { attempts: 3, delay: '1m', jitter: 0 },
});
const chain = defineJob<number>('chain');

class NoSpam implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    return context.getArgByIndex<{ to: string }>(0).to !== 'spam';
  }
}

class Loud implements NestInterceptor {
  intercept(_: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(map((output) => `${String(output)}!`));
  }
}

class Rescue implements ExceptionFilter {
  catch(error: Error): string {
    if (error.message !== 'rescue me') throw error;
    return 'rescued';
  }
}

@Injectable()
class Handlers {
  readonly ran: string[] = [];

  constructor(private readonly jobs: GearMonkeyClient) {}

  @Worker(mail)
  @UseGuards(NoSpam)
  @UseInterceptors(Loud)
  async *mail({ to, copies }: { to: string; copies: number }) {
    this.ran.push(to);
    yield progress(1, copies);
    return `${copies} to ${to}`;
  }

  @Worker(flaky)
  flaky({ until }: { until: number }, job: RunningJob) {
    this.ran.push(`attempt ${job.attempts}`);
    if (job.attempts < until) throw new Error(`not before ${until}`);
    return job.attempts;
  }

  @Worker('piped')
  @UseFilters(Rescue)
  piped(@Input('width', ParseIntPipe) width: number) {
    if (width < 0) throw new Error('rescue me');
    return width * 2;
  }

  @Worker(chain)
  async chain(left: number) {
    this.ran.push(`chain ${left}`);
    if (left > 0) await this.jobs.run(chain, left - 1, { delay: left === 1 ? '1h' : 0 });
  }

  @Worker('later')
  later() {
    throw new RetryLaterError('5m');
  }

  @Worker('parent')
  parent(to: string) {
    return this.jobs.call(mail, { to });
  }

  @Worker('hangs')
  hangs() {
    return new Promise(() => undefined);
  }
}

const NONE = { done: 0, failed: 0, retried: 0 };

describe.each(MEMORY_AND_REDIS)('Jobs of a test, in %s', (server) => {
  const testing = useTesting(server);

  async function start() {
    const module = await testing.start({ providers: [Handlers] });
    const jobs = module.get(GearMonkeyTestClient);
    return { jobs, test: jobs.test, ran: module.get(Handlers).ran };
  }

  describe('perform', () => {
    it('runs one through schemas, guards, interceptors and generators, and returns it as get does', async () => {
      const { jobs, test, ran } = await start();
      const job = await test.perform(mail, { to: 'ada' });
      expect(job).toMatchObject({
        fn: 'mail',
        state: 'succeeded',
        input: { to: 'ada' },
        output: '1 to ada!',
        attempts: 1,
        progress: { dividend: 1, divisor: 1 },
        errors: [],
      });
      await expect(jobs.get(mail, job.id)).resolves.toEqual(job);
      expect(job.times.finished).toEqual(test.now);
      expect([ran, test.enqueued()]).toEqual([['ada'], []]);
    });

    it('names what refused it', async () => {
      const { test, ran } = await start();
      await expect(test.perform(mail, { to: 'spam' })).resolves.toMatchObject({
        state: 'failed',
        error: { name: 'ForbiddenException' },
      });
      await expect(test.perform(mail, { to: 1 } as never)).rejects.toThrow('to: ');
      await expect(test.perform('piped', { width: '-4' })).resolves.toMatchObject({ output: 'rescued' });
      await expect(test.perform('piped', { width: '21' })).resolves.toMatchObject({ output: 42 });
      await expect(test.perform('piped', { width: 'wide' })).resolves.toMatchObject({
        error: { name: 'BadRequestException' },
      });
      expect(ran).toEqual([]);
    });

    it('makes it the attempt that is asked for', async () => {
      const { test } = await start();
      const second = await test.perform(flaky, { until: 9 }, { attempt: 2 });
      expect(second).toMatchObject({
        state: 'retrying',
        attempts: 2,
        errors: [{ attempt: 2, message: 'not before 9' }],
      });
      await expect(test.perform(flaky, { until: 9 }, { attempt: 3 })).resolves.toMatchObject({
        state: 'failed',
        attempts: 3,
        error: { message: 'not before 9' },
      });
      await expect(test.perform(flaky, { until: 3 }, { attempt: 3 })).resolves.toMatchObject({ output: 3 });
    });

    it('leaves jobs that wait alone, and runs beside them', async () => {
      const { jobs, test, ran } = await start();
      await jobs.run(mail, { to: 'waits' }, { priority: 'high' });
      await test.perform(mail, { to: 'performed' });
      expect(ran).toEqual(['performed']);
      await expect(test.drain()).resolves.toEqual({ ...NONE, done: 1 });
      expect(ran).toEqual(['performed', 'waits']);
    });

    it('names the functions that have a handler', async () => {
      const { test } = await start();
      const performing = test.perform('male', {});
      await expect(performing).rejects.toThrow(JobTestingError);
      await expect(performing).rejects.toThrow('No handler runs "male" in this app (known: "mail"');
    });
  });

  describe('drain', () => {
    it('runs waiting jobs, which nothing else does, and counts their outcomes', async () => {
      const { jobs, test, ran } = await start();
      await jobs.run(mail, { to: 'ada' });
      await jobs.run(mail, { to: 'spam' });
      await jobs.run(flaky, { until: 2 });
      const [later] = await Promise.all([jobs.run('later', 1), jobs.run('nobody', 1)]);
      await new Promise((resolve) => setImmediate(resolve));
      expect(ran).toEqual([]);
      await expect(test.drain()).resolves.toEqual({ done: 1, failed: 1, retried: 2 });
      expect(ran.toSorted()).toEqual(['ada', 'attempt 1']);
      await expect(test.drain()).resolves.toEqual(NONE);
      await expect(later.get()).resolves.toMatchObject({
        state: 'retrying',
        errors: [{ code: 'RETRY_LATER' }],
      });
    });

    it('runs in order of priority', async () => {
      const { jobs, test, ran } = await start();
      for (const priority of ['low', 'normal', 'high'] as const)
        await jobs.run(mail, { to: priority }, { priority });
      await test.drain();
      expect(ran).toEqual(['high', 'normal', 'low']);
    });

    it('runs scheduled jobs and retries at their time, if asked', async () => {
      const { jobs, test, ran } = await start();
      const begin = test.now.getTime();
      await jobs.run(mail, { to: 'tomorrow' }, { delay: '1 day' });
      const job = await jobs.run(flaky, { until: 3 });
      await expect(test.drain({ scheduled: true })).resolves.toEqual({ done: 2, failed: 0, retried: 2 });
      expect(ran).toEqual(['attempt 1', 'attempt 2', 'attempt 3', 'tomorrow']);
      expect(test.now.getTime() - begin).toBe(24 * 3_600_000);
      const { times } = await job.get();
      expect((times.finished?.getTime() ?? 0) - begin).toBe(3 * 60_000);
    });

    it('also runs jobs that jobs enqueue, with an option', async () => {
      const { jobs, test, ran } = await start();
      await jobs.run(chain, 2);
      await expect(test.drain()).resolves.toMatchObject({ done: 1 });
      await expect(test.drain({ recursive: true })).resolves.toMatchObject({ done: 1 });
      await expect(test.drain({ recursive: true, scheduled: true })).resolves.toMatchObject({ done: 1 });
      expect(ran).toEqual(['chain 2', 'chain 1', 'chain 0']);
      await jobs.run(chain, 2);
      await expect(test.drain({ recursive: true, scheduled: true })).resolves.toMatchObject({ done: 3 });
    });

    it('runs the job that another waits for, if asked', async () => {
      const { jobs, test } = await start();
      await jobs.run('parent', 'ada');
      const alone = test.drain({ timeout: 1000 });
      await expect(alone).rejects.toThrow('parent 1 still runs');
      await expect(alone).rejects.toThrow('if it waits for another job, use drain({ recursive: true })');
      await expect(test.drain({ recursive: true })).resolves.toMatchObject({ done: 2 });
    });

    it('runs jobs of a handler that was added while the app ran, until it stops', async () => {
      const module = await testing.start({ providers: [Handlers] });
      const jobs = module.get(GearMonkeyTestClient);
      const added = await module.get(GearMonkeyWorkers).add('added', (input) => [input]);
      await expect(jobs.test.perform('added', 1)).resolves.toMatchObject({ output: [1] });
      jobs.test.failNext('added', new Error('no'));
      await expect(jobs.test.perform('added', 1)).resolves.toMatchObject({ error: { message: 'no' } });
      await added.stop();
      await jobs.run('added', 2);
      await expect(jobs.test.drain()).resolves.toEqual(NONE);
      await expect(jobs.test.perform('added', 1)).rejects.toThrow('No handler runs "added"');
    });

    it('names the jobs for which it waited too long', async () => {
      const { jobs, test } = await start();
      await jobs.run('hangs', 1);
      const drained = test.drain({ timeout: 1000 });
      await expect(drained).rejects.toThrow(JobTestTimeoutError);
      await expect(drained).rejects.toThrow('drain waited 1000 ms, and hangs 1 still runs.');
    });

    it('refuses an app that has not started, and one that is closed', async () => {
      const module = testing.closing(
        await Test.createTestingModule({ imports: [GearMonkeyTestingModule.forRoot()] }).compile(),
      );
      const { test } = module.get(GearMonkeyTestClient);
      await expect(test.drain()).rejects.toThrow('Await module.init(), or app.init(), first.');
      await expect(test.perform('a', 1)).rejects.toThrow(JobTestingError);
      await module.init();
      await expect(test.drain()).resolves.toEqual(NONE);
      await module.close();
      await expect(test.advance(1)).rejects.toThrow('the app is closed');
    });
  });

  describe('in auto mode', () => {
    it('run by themselves, for code that waits for an output', async () => {
      const jobs = await testing.jobs({ providers: [Handlers] }, { mode: 'auto' });
      await expect(jobs.call(mail, { to: 'ada' })).resolves.toBe('1 to ada!');
      await expect(jobs.test.perform(mail, { to: 'bob' }, { attempt: 7 })).resolves.toMatchObject({
        attempts: 7,
      });
      const job = await jobs.run(flaky, { until: 2 });
      await jobs.test.until(flaky, {}, 'retried');
      await jobs.test.advance('1m');
      await expect(job.get()).resolves.toMatchObject({ state: 'succeeded', attempts: 2 });
    });
  });
});
