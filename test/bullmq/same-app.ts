/**
 * An app for @nestjs/bullmq, as text: the same text runs with nestjs-gearmonkey/bullmq, with only the packages of its
 * imports changed. It prints what its jobs did.
 */
export const APP = `
import 'reflect-metadata';
import { Inject, Injectable, Module, Scope } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { BullModule, InjectQueue, JOB_REF, OnWorkerEvent, Processor, WorkerHost, getQueueToken } from '@nestjs/bullmq';
import { DelayedError, QueueEvents, UnrecoverableError, type Job, type Queue } from 'bullmq';

const connection = { url: process.env['REDIS_URL'] ?? '', maxRetriesPerRequest: null };
const lines: string[] = [];
const ended = new Set<string>();
let resolve = () => undefined as void;
const all = new Promise<void>((done) => (resolve = done));
const ends = 9;

interface Letter {
  to: string;
}

@Processor('letters', { concurrency: 1, removeOnComplete: { count: 100 }, limiter: { max: 1000, duration: 1000 } })
class LetterProcessor extends WorkerHost {
  async process(job: Job<Letter, string>, token?: string): Promise<string> {
    void token;
    switch (job.name) {
      case 'welcome':
        await job.updateProgress(50);
        await job.log('opened ' + job.data.to);
        return 'welcomed ' + job.data.to;
      case 'flaky':
        if (job.attemptsMade < 2) throw new Error('451 of ' + job.opts.attempts);
        return 'sent after ' + job.attemptsMade;
      case 'wrong':
        throw new UnrecoverableError('no such address');
      case 'later':
        if (job.attemptsStarted === 1) {
          ended.add('moved');
          await job.moveToDelayed(Date.now() + 20, token);
          throw new DelayedError();
        }
        return 'moved';
      default:
        return job.name + ' ' + JSON.stringify(job.data);
    }
  }

  @OnWorkerEvent('active')
  onActive(job: Job) {
    if (job.name === 'welcome') lines.push('active ' + job.name + ' of ' + job.queueName);
  }

  @OnWorkerEvent('progress')
  onProgress(job: Job, progress: unknown) {
    lines.push('progress ' + job.name + ' ' + String(progress));
  }

  @OnWorkerEvent('completed')
  async onCompleted(job: Job, result: string) {
    lines.push(['completed', job.name, job.attemptsMade, result, job.returnvalue, await job.getState()].join(' | '));
    end(job);
  }

  @OnWorkerEvent('failed')
  onFailed(job: Job, error: Error) {
    const attempts = job.opts.attempts ?? 1;
    const isLast = job.attemptsMade >= attempts || error.name === 'UnrecoverableError';
    lines.push(['failed', job.name, job.attemptsMade, error.message, job.failedReason, isLast].join(' | '));
    if (isLast) end(job);
  }
}

@Processor({ name: 'scoped', scope: Scope.REQUEST })
class ScopedProcessor extends WorkerHost {
  constructor(@Inject(JOB_REF) private readonly ref: Job) {
    super();
  }
  async process(job: Job<number>) {
    return this.ref.data + job.data;
  }
}

function end(job: Job) {
  ended.add(job.name);
  if (ended.size === ends) resolve();
}

@Injectable()
class Letters {
  constructor(@InjectQueue('letters') private readonly queue: Queue<Letter, string>) {}

  async send() {
    const to = 'ada@example.com';
    const backoff = { type: 'fixed', delay: 10 };
    const welcome = await this.queue.add('welcome', { to });
    await this.queue.add('flaky', { to }, { backoff });
    await this.queue.add('wrong', { to }, { attempts: 3, removeOnFail: 10 });
    await this.queue.add('later', { to });
    await this.queue.addBulk([
      { name: 'one', data: { to } },
      { name: 'two', data: { to }, opts: { attempts: 2, backoff: { type: 'exponential', delay: 10 } } },
    ]);
    await this.queue.add('delayed', { to }, { delay: 1000, deduplication: { id: 'only' } });
    await this.queue.add('delayed', { to }, { delay: 1000, deduplication: { id: 'only' } });
    return welcome;
  }
}

@Module({
  imports: [
    BullModule.forRootAsync({ useFactory: async () => ({ connection }) }),
    BullModule.registerQueue({ name: 'letters', defaultJobOptions: { attempts: 3, removeOnFail: { age: 3600 } } }),
    BullModule.registerQueueAsync({ name: 'scoped', useFactory: () => ({}) }),
  ],
  providers: [LetterProcessor, ScopedProcessor, Letters],
})
class AppModule {}

const app = await NestFactory.createApplicationContext(AppModule, { logger: false });
const queue = app.get<Queue<Letter, string>>(getQueueToken('letters'));
const events = new QueueEvents('letters', { connection });
await events.waitUntilReady();
const scopedEvents = new QueueEvents('scoped', { connection });
await scopedEvents.waitUntilReady();
const show = (...parts: unknown[]) => lines.push(parts.map((part) => JSON.stringify(part)).join(' '));

await queue.pause();
show(await queue.isPaused());
const job = await app.get(Letters).send();
show(job.name, job.data, job.attemptsMade, job.opts.attempts, job.queueName);
const counts = await queue.getJobCounts('delayed', 'active', 'completed', 'failed');
show(Object.entries(counts).sort());
await queue.resume();
show(await job.waitUntilFinished(events));
const missing = await app.get<Queue>(getQueueToken('letters')).add('missing', undefined, { attempts: 1 });
show(await missing.waitUntilFinished(events, 10_000));
await all;
const read = await queue.getJob(job.id ?? '');
show(read?.name, read?.data, read?.returnvalue, read?.progress, read?.attemptsMade, await read?.isCompleted());
show((await queue.getJobLogs(job.id ?? '')).logs);
show((await queue.getFailed()).map(({ name, failedReason }) => [name, failedReason]).sort());
const wrong = (await queue.getFailed()).find(({ name }) => name === 'wrong');
await wrong?.remove();
show(await queue.getJob(wrong?.id ?? ''), await wrong?.getState());
const failing = await queue.add('wrong', { to: 'eve' });
show(await failing.waitUntilFinished(events).catch((error: Error) => error.message));
const scoped = app.get<Queue<number, number>>(getQueueToken('scoped'));
show(await (await scoped.add('sum', 21)).waitUntilFinished(scopedEvents));

await queue.upsertJobScheduler('nightly', { pattern: '0 30 3 * * *', tz: 'Europe/Berlin' }, { name: 'report', data: { to: 'all' } });
await queue.upsertJobScheduler('often', { every: 3_600_000, startDate: '2099-01-01' }, { data: { to: 'all' } });
const scheduler = await queue.getJobScheduler('nightly');
show(scheduler?.key, scheduler?.pattern, scheduler?.tz, new Date(scheduler?.next ?? 0).getMinutes());
show((await queue.getJobSchedulers(0, -1, true)).map(({ key }) => key));
show(await queue.removeJobScheduler('nightly'), await queue.removeJobScheduler('nightly'), await queue.removeJobScheduler('often'));
await events.close();
await scopedEvents.close();
await app.close();
// Events and callers are independent, so their order is not the same.
console.log(lines.sort().join('\\n'));
`;

/** The same text, with its imports from this package. */
export function moved(source: string): string {
  const target = "'nestjs-gearmonkey/bullmq'";
  return source.replaceAll("'@nestjs/bullmq'", target).replaceAll("'bullmq'", target);
}
