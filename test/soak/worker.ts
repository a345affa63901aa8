/** A worker process of the soak, on the server of its argument. */
import 'reflect-metadata';
import { Injectable } from '@nestjs/common';
import { once } from 'node:events';
import { Worker, type RunningJob } from '../../lib/index.js';
import { soak, type Kind } from './soak.job.js';
import { runWorkerApp } from './worker-app.js';

const untilAborted = (job: RunningJob) => once(job.signal, 'abort').then(() => 'aborted');

const handlers: Record<Kind, (text: string, job: RunningJob) => string | Promise<string>> = {
  plain: (text) => text.toUpperCase(),
  flaky: (text, job) => {
    if (job.attempts < 3) throw new Error(`attempt ${job.attempts}`);
    return text;
  },
  steps: async (text, job) => {
    for (let step = 1; step <= 5; step++) await job.update(step, 5);
    return text;
  },
  hangs: (_, job) => untilAborted(job),
  waits: (_, job) => untilAborted(job),
};

@Injectable()
class Handlers {
  @Worker(soak, { concurrency: 50 })
  run({ kind, text }: { kind: Kind; text: string }, job: RunningJob) {
    return handlers[kind](text, job);
  }
}

await runWorkerApp(Handlers);
