import { instrumentation, subscribeTo, type SettleEvent } from '../job/instrumentation.js';
import { messageOf, type JobErrorInfo } from '../job/errors.js';
import type { Claim, Outcome } from '../job/job-source.js';
import { nestLog } from '../nest/nest-log.js';
import type { Job } from './job.js';
import { workerEventOf, type WorkerEvent } from './processor.decorator.js';

/** A run whose outcome is not written yet. */
interface Run {
  readonly job: Job;
  result?: unknown;
  error?: unknown;
}

type Methods = Record<string, unknown>;
type Listener = (...args: unknown[]) => unknown;

const log = nestLog('BullModule');

/** Calls the methods of processors that listen to what happens to their jobs. */
export class WorkerEvents {
  /** Outcomes say which claim they are of. One without an outcome is forgotten with its claim. */
  private readonly runs = new WeakMap<Claim, Run>();
  private readonly listeners = new Map<WorkerEvent, Listener[]>();
  private stop: (() => void) | undefined;

  /** @param methods the names of the host's methods */
  constructor(host: object, methods: readonly string[]) {
    for (const name of methods) {
      const method = (host as Methods)[name];
      const event = workerEventOf(method);
      if (event)
        this.listeners.set(event, [...(this.listeners.get(event) ?? []), (method as Listener).bind(host)]);
    }
  }

  /** Other code pays nothing for events that no processor listens to. */
  listen(): void {
    if (this.listeners.has('completed') || this.listeners.has('failed'))
      this.stop = subscribeTo(instrumentation.settle, { asyncEnd: (event) => this.settled(event) });
  }

  end(): void {
    this.stop?.();
  }

  begin(claim: Claim, job: Job): Run {
    const run: Run = { job };
    this.runs.set(claim, run);
    this.tell('active', job, 'waiting');
    return run;
  }

  tell(event: WorkerEvent, ...args: unknown[]): void {
    const failed = (error: unknown) => log.error(`@OnWorkerEvent('${event}') failed: ${messageOf(error)}`);
    for (const listener of this.listeners.get(event) ?? []) {
      // What it throws, it may throw later.
      void (async () => listener(...args))().catch(failed);
    }
  }

  private settled({ outcomes, refused, error }: SettleEvent): void {
    if (error !== undefined) return;
    for (const outcome of outcomes) {
      const run = this.runs.get(outcome.claim);
      if (!run) continue;
      this.runs.delete(outcome.claim);
      if (!refused?.includes(outcome.claim)) this.ended(run, outcome);
    }
  }

  private ended({ job, result, error }: Run, outcome: Outcome): void {
    if ('output' in outcome) {
      job.attemptsMade++;
      job.finishedOn = Date.now();
      job.returnvalue = result;
      this.tell('completed', job, result, 'active');
    } else if ('error' in outcome) {
      job.attemptsMade++;
      if (!('delay' in outcome)) job.finishedOn = Date.now();
      job.failedReason = outcome.error.message;
      job.stacktrace = [...job.stacktrace, outcome.error.stack ?? outcome.error.message];
      this.tell('failed', job, error ?? asError(outcome.error), 'active');
    }
  }
}

/** A run that was ended from outside, as by its timeout. */
function asError({ name, message, stack }: JobErrorInfo): Error {
  return Object.assign(new Error(message), { name, ...(stack !== undefined && { stack }) });
}
