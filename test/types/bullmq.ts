import {
  BullModule,
  OnWorkerEvent,
  Processor,
  WorkerHost,
  type Job,
  type Queue,
  type QueueEvents,
} from 'nestjs-gearmonkey/bullmq';
import { same } from './definitions.js';

interface Letter {
  to: string;
}

/** Never called: it only has to compile. */
export async function queue(
  letters: Queue<Letter, string>,
  untyped: Queue,
  events: QueueEvents,
): Promise<void> {
  const job = await letters.add(
    'welcome',
    { to: 'Ada' },
    { attempts: 3, backoff: { type: 'fixed', delay: 10 } },
  );
  same<typeof job, Job<Letter, string>>();
  const result = await job.waitUntilFinished(events, 1000);
  same<typeof result, string>();
  // @ts-expect-error other data
  await letters.add('welcome', { from: 'Ada' });
  await untyped.add('anything', { any: ['data'] });
  (await untyped.getJob('7'))?.data.deep.value.toFixed();
  // @ts-expect-error an id of its own: use deduplication
  await letters.add('welcome', { to: 'Ada' }, { jobId: 'mine' });
  // @ts-expect-error use upsertJobScheduler
  await letters.add('welcome', { to: 'Ada' }, { repeat: { every: 1000 } });
  // @ts-expect-error progress is a number of percent
  await job.updateProgress({ step: 1 });
  // @ts-expect-error there are no flows
  await job.getChildrenValues();
  // @ts-expect-error use @OnFinish
  events.on('completed', () => undefined);
  // @ts-expect-error no job is returned
  const next: Job = await letters.upsertJobScheduler('nightly', { pattern: '0 3 * * *' });
  // @ts-expect-error call queue.add beside it
  await letters.upsertJobScheduler('nightly', { every: 1000, immediately: true });
  void next;
}

@Processor('letters', { concurrency: 2, limiter: { max: 1, duration: 1000 } })
export class Letters extends WorkerHost {
  async process(
    job: Job<Letter, string, 'welcome' | 'goodbye'>,
    _token?: string,
    signal?: AbortSignal,
  ): Promise<string> {
    signal?.throwIfAborted();
    // @ts-expect-error no such name
    if (job.name === 'hello') return '';
    return job.data.to;
  }

  @OnWorkerEvent('completed')
  onCompleted(_job: Job<Letter>, _result: string): void {}

  // @ts-expect-error no such event
  @OnWorkerEvent('stalled')
  onStalled(): void {}
}

// @ts-expect-error the module's lease
Processor('letters', { lockDuration: 1000 });
// @ts-expect-error an array of processors in files
BullModule.registerQueue({ name: 'letters', processors: ['/file.js'] });
// @ts-expect-error no prefix
BullModule.forRoot({ connection: 'redis://a', prefix: 'shop' });
// @ts-expect-error flows of another client
BullModule.registerFlowProducer({ name: 'flows' });
