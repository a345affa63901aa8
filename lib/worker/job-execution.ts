import { isPromise } from 'node:util/types';
import { realNow } from '../job/real-time.js';
import { payloadBytes, read, write, type Codec, type Payload } from '../job/codec.js';
import {
  PayloadTooLargeError,
  type ErrorDetail,
  ConfigurationError,
  toErrorInfo,
  type JobErrorInfo,
} from '../job/errors.js';
import {
  AttemptFailedError,
  JobCancelledError,
  JobTimeoutError,
  JobWaitsError,
  LeaseLostError,
  ShutdownError,
  type JobAbortedError,
} from '../job/abort-errors.js';
import { instrumentation } from '../job/instrumentation.js';
import type { Claim, JobSource, Outcome } from '../job/job-source.js';
import { isLast, type RetryOptions, retryDelay, SnoozeError } from '../job/retry.js';
import { validate } from '../job/standard-schema.js';
import { withoutContext } from '../job/without-context.js';
import { showAs } from '../job/show-as.js';
import type { HandlerBinding } from './job-handler.js';
import { endedRun, runThrough, tellOutcome, type RunMiddleware } from './run-middleware.js';
import { settleResult } from './handler-result.js';
import { JobParts, type RunOfParts } from './job-parts.js';
import { RunningJob } from './running-job.js';
import { RunTrace } from './traced-source.js';
import { toMilliseconds, MAX_SPAN_MS } from '../job/duration.js';
import { isInstance } from '../job/error-info.js';
import { HoldKeyError } from '../job/limit-errors.js';
import type { SourceCapabilities } from '../job/source-capabilities.js';
import { BatchStoppedError } from './batch.js';

/** Settings that all handlers of a worker share. */
export interface ExecutionLimits {
  /** The codec of functions whose definition names none. */
  readonly codec: Codec;
  readonly maxPayloadBytes: number;
  /** How much of what a handler throws is stored. @default 'stack' */
  readonly errorDetail?: ErrorDetail;
  /** Largest output of a step. @default 256 kB */
  readonly maxStepBytes?: number | undefined;
  /** @default runs the handler as it is */
  readonly middleware?: readonly RunMiddleware[] | undefined;
  /** Called with what a hook of it threw, that changes no outcome. */
  readonly onHookError?: (message: string) => void;
  /** Called when a claim turns out to be lost before its handler has begun. */
  readonly onLost?: (claim: Claim) => void;
  /** Called if the outputs of a job's parents are many bytes. */
  readonly onLargeParents?: (claim: Claim, bytes: number, count: number) => void;
}

/** How often a run asks for a new lease before its handler begins, if the reply is late each time, until its job goes back. */
const RENEWALS = 3;

/** One run of a claimed job. It ends once: with an outcome, or without one if the claim is lost. */
export class JobExecution implements RunOfParts {
  static {
    showAs(JobExecution, ({ claim: { fn, id } }) => ({ fn, id }));
  }

  private job?: RunningJob;
  private ended = false;
  private usedParts?: JobParts;
  private isEnding = false;
  /** Whether its handler runs inside of hooks. */
  private isInside = false;
  private reason?: JobAbortedError;
  private trace?: RunTrace;
  /** When the run began, by `realNow`. */
  began = 0;

  constructor(
    readonly claim: Claim,
    private readonly binding: HandlerBinding,
    readonly limits: ExecutionLimits,
    readonly source: Pick<
      JobSource,
      'progress' | 'clock' | 'capabilities' | 'system' | 'address' | 'records' | 'renew' | 'leases'
    >,
    private readonly onEnd: (execution: JobExecution, outcome: Outcome | undefined) => void,
  ) {}

  get parts(): JobParts {
    return (this.usedParts ??= new JobParts(this));
  }

  get codec(): Codec {
    return this.binding.definition.codec ?? this.limits.codec;
  }

  get version(): string {
    return this.binding.definition.steps?.version ?? '';
  }

  get hasEnded(): boolean {
    return this.ended;
  }

  /** How long this run may take, in milliseconds. */
  get timeout(): number | undefined {
    const { timeout, jobLimits } = this.binding.limits;
    const own = this.claim.options.timeout;
    return own === undefined ? timeout : Math.min(own, jobLimits?.timeout ?? Infinity);
  }

  /** The retry options that apply to this job. */
  get retry(): RetryOptions | undefined {
    const { retry, jobLimits } = this.binding.limits;
    const own = this.claim.options.retry;
    if (own?.attempts === undefined || jobLimits === undefined) return own ?? retry;
    return { ...own, attempts: Math.min(own.attempts, jobLimits.attempts) };
  }

  /** The number of this attempt. Stalled claims don't count. */
  get attempt(): number {
    return this.claim.attempts - this.claim.stalls;
  }

  /** Whether the job is not tried again if this attempt fails. */
  get isLastAttempt(): boolean {
    return this.claim.isLast === true || isLast(this.retry, this.attempt);
  }

  start(): void {
    this.began = realNow();
    if (instrumentation.run.hasSubscribers) this.trace = new RunTrace(this.source, this.claim, this.attempt);
    const { trace } = this;
    withoutContext(() => (trace ? trace.run(() => this.begin()) : this.begin()));
  }

  /** Fails the attempt with `reason`; later results of its handler are ignored. */
  fail(reason: JobAbortedError): void {
    this.abort(reason, this.failure(reason));
  }

  /** Releases it to the front of its queue, as if it had not been claimed. */
  release(reason: JobAbortedError): void {
    this.abort(reason, { claim: this.claim, status: 'released' });
  }

  /** The worker shuts down: the job goes back before its next step. */
  endAtStep(): void {
    this.isEnding = true;
  }

  /** One in a batch would take the others with it. */
  get endsAtStep(): boolean {
    return this.isEnding && !this.job?.isInBatch;
  }

  /** Its job has found out that it has to stop. */
  onAbort(): void {
    this.end(undefined);
  }

  /** The claim is lost: nothing is settled. */
  revoke(reason: JobAbortedError): void {
    this.abort(reason, undefined);
  }

  /**
   * If the event loop was blocked, a result may come before the timer that should have ended its run. By a test's clock
   * nothing comes before what is due.
   */
  private succeed(output: Payload): void {
    const { claim, timeout = Infinity } = this;
    const took = realNow() - this.began;
    const inTime = this.source.clock !== undefined || took <= timeout;
    if (inTime) this.end({ claim, status: 'success', output, took });
    else this.fail(new JobTimeoutError(claim.fn, claim.id, timeout));
  }

  private begin(): void {
    this.run().then(
      (output) => this.succeed(output),
      (error: unknown) => this.failed(error),
    );
  }

  private failed(error: unknown): void {
    const outcome = this.failure(this.job?.endsWith ?? error);
    if (this.ended || !this.isInside) return this.end(outcome);
    // A hook has failed, and did not wait for the handler.
    const { fn, id } = this.claim;
    this.abort(new AttemptFailedError(fn, id, error), outcome);
  }

  private abort(reason: JobAbortedError, outcome: Outcome | undefined): void {
    this.reason = reason;
    this.end(outcome);
    this.job?.abort(reason);
  }

  private async run(): Promise<Payload> {
    const { definition, handle } = this.binding;
    const { codec, claim, limits } = this;
    const received = read(codec, claim.fn, 'input', claim.input);
    const input = definition.input
      ? await validate(definition.input, definition.name, 'input', received)
      : received;
    const uncertain = this.beSure();
    if (uncertain) await uncertain;
    // The job was aborted and released while its input was validated: it may run elsewhere by now.
    if (this.reason) throw this.reason;
    const job = (this.job = new RunningJob(this.source, claim, input, this));
    let returned: unknown;
    try {
      if (limits.middleware) {
        returned = await runThrough(limits.middleware, job, () => this.handledInside(input, job));
      } else {
        const settled = settleResult(await handle(input, job), job);
        returned = isPromise(settled) ? await settled : settled;
      }
      if (job.endsWith) throw job.endsWith;
    } catch (error) {
      // The first error counts.
      await this.usedParts?.flush();
      throw error;
    }
    if (this.usedParts) await this.usedParts.end();
    const output = definition.output
      ? await validate(definition.output, definition.name, 'output', returned)
      : returned;
    return this.encode(codec, output);
  }

  /** Undefined if the lease is held for sure, or this run has ended; else it resolves when one of them is so. */
  beSure(): Promise<void> | undefined {
    return !this.ended && this.source.leases?.mayBeLost?.(this.claim) ? this.askForLease() : undefined;
  }

  private async askForLease(): Promise<void> {
    const { claim, source } = this;
    for (let times = 0; times < RENEWALS; times++) {
      const lost = await source.renew([claim]).catch(() => undefined);
      if (this.ended || lost === undefined) break;
      if (lost.length > 0) return this.lose();
      // That this is read late means as much.
      if (!source.leases?.mayBeLost?.(claim)) return;
    }
    if (!this.ended) this.release(new LeaseLostError(claim.fn, claim.id));
  }

  private lose(): void {
    const { claim, limits } = this;
    limits.onLost?.(claim);
    this.revoke(new LeaseLostError(claim.fn, claim.id));
  }

  private async handledInside(input: unknown, job: RunningJob): Promise<unknown> {
    await this.beSure();
    // The hooks may have taken longer than the job's timeout or its lease, or may have ended before they called this.
    if (this.ended) {
      const reason = this.reason ?? (job.signal.reason as JobAbortedError | undefined);
      throw reason ?? new AttemptFailedError(job.fn, job.id, 'next() was called too late');
    }
    const { handle } = this.binding;
    this.isInside = true;
    try {
      return await settleResult(await handle(input, job), job);
    } finally {
      this.isInside = false;
    }
  }

  onLost(): never {
    const lost = new LeaseLostError(this.claim.fn, this.claim.id);
    this.job?.abort(lost);
    throw lost;
  }

  goOn(): void {
    if (this.endsAtStep) this.release(new ShutdownError());
    if (this.reason) throw this.reason;
  }

  park(waitsFor: readonly string[], delay: number): never {
    const { claim } = this;
    const reason = new JobWaitsError(claim.fn, claim.id, waitsFor);
    this.abort(reason, { claim, status: 'snoozed', delay, waitsFor });
    throw reason;
  }

  private encode(codec: Codec, value: unknown): Payload {
    const output = write(codec, this.claim.fn, 'output', value);
    const bytes = payloadBytes(output);
    const { maxPayloadBytes } = this.limits;
    if (bytes > maxPayloadBytes)
      throw new PayloadTooLargeError(this.claim.fn, 'output', bytes, maxPayloadBytes);
    return output;
  }

  private failure(thrown: unknown): Outcome {
    const { errorDetail, maxPayloadBytes } = this.limits;
    const { capabilities } = this.source;
    const hasLimit = this.binding.limits.limit !== undefined;
    const { retry, attempt } = this;
    return failureOf(this.claim, thrown, {
      retry,
      attempt,
      hasLimit,
      capabilities,
      errorDetail,
      maxPayloadBytes,
    });
  }

  private tellMiddleware(middleware: readonly RunMiddleware[], outcome: Outcome | undefined): void {
    const { attempt, limits, claim } = this;
    const end = this.reason instanceof JobCancelledError ? 'cancelled' : 'lost';
    const run = endedRun(claim, outcome, { attempt, end, took: realNow() - this.began });
    withoutContext(() => tellOutcome(middleware, run, limits.onHookError ?? (() => undefined)));
  }

  private end(outcome: Outcome | undefined): void {
    if (this.ended) return;
    this.ended = true;
    this.trace?.ended(outcome, this.reason);
    if (this.limits.middleware) this.tellMiddleware(this.limits.middleware, outcome);
    this.onEnd(this, outcome);
  }
}

/** What the outcome of a failed attempt depends on. */
export interface FailureRules {
  readonly retry: RetryOptions | undefined;
  readonly attempt: number;
  readonly hasLimit: boolean;
  readonly capabilities: SourceCapabilities;
  readonly errorDetail: ErrorDetail | undefined;
  readonly maxPayloadBytes: number;
}

/** A snoozed job waits in the server, so its delay needs no timer. */
const ANY_DELAY = { least: 0, most: MAX_SPAN_MS };

/** The outcome of a handler that has thrown. A user's backoff function may throw as well; its error becomes the job's. */
export function failureOf(claim: Claim, thrown: unknown, rules: FailureRules): Outcome {
  try {
    if (isInstance(thrown, SnoozeError)) return snoozed(claim, thrown, rules);
    if (isInstance(thrown, HoldKeyError)) return held(claim, thrown, rules);
    if (isInstance(thrown, BatchStoppedError)) return { claim, status: 'released' };
    const delay = retryDelay(rules.retry, rules.attempt, thrown);
    const error = describe(thrown, rules);
    return delay === undefined ? { claim, status: 'error', error } : { claim, status: 'retry', error, delay };
  } catch (error) {
    return { claim, status: 'error', error: describe(error, rules) };
  }
}

/** @throws ConfigurationError if the job's system has no way to do it */
function snoozed(claim: Claim, { delay }: SnoozeError, { capabilities }: FailureRules): Outcome {
  if (capabilities.snooze)
    return { claim, status: 'snoozed', delay: toMilliseconds('delay', delay, ANY_DELAY) };
  throw new ConfigurationError(
    `The handler of "${claim.fn}" threw a SnoozeError, which is for jobs of GearMonkey and memory. Throw a RetryLaterError here.`,
  );
}

/** @throws ConfigurationError if nothing limits the job */
function held(claim: Claim, { delay }: HoldKeyError, { hasLimit }: FailureRules): Outcome {
  if (hasLimit) return { claim, status: 'held', delay };
  throw new ConfigurationError(
    `The handler of "${claim.fn}" called job.holdKey, which is for functions with a \`limit\`. Give its definition one, or throw a SnoozeError.`,
  );
}

/** The message is stored as the job's output, which has a limit. */
function describe(thrown: unknown, { errorDetail = 'stack', maxPayloadBytes }: FailureRules): JobErrorInfo {
  return toErrorInfo(thrown, { detail: errorDetail, maxMessageBytes: maxPayloadBytes });
}
