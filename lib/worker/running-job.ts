import { setMaxListeners } from 'node:events';
import { codecOf } from '../job/codec.js';
import type { Duration } from '../job/duration.js';
import { ConfigurationError, InvalidOptionError } from '../job/errors.js';
import { LeaseLostError, type JobAbortedError } from '../job/abort-errors.js';
import { NO_HEADERS, type JobHeaders } from '../job/headers.js';
import type { ParentJob } from '../job/flows.js';
import type { FunctionRef, OutputOf } from '../job/job-definition.js';
import type { RecurringTick } from '../job/recurring.js';
import type { Claim, JobSource } from '../job/job-source.js';
import { isFrom } from '../job/error-info.js';
import { HoldKeyError } from '../job/limit-errors.js';
import type { BatchStoppedError } from './batch.js';
import type { CursorStart, JobCursor } from './job-cursor.js';
import type { JobParts } from './job-parts.js';
import { waitSpan, type JobSignal, type WaitOptions } from './signal-wait.js';
import { showAs } from '../job/show-as.js';

/** What a job knows of its run. */
interface RunOfJob {
  readonly isLastAttempt: boolean;
  /** Whether it has an outcome, of which the job may learn in a moment. */
  readonly hasEnded?: boolean;
  /** Undefined if its lease is held for sure; else it resolves when it is, or the run has ended. */
  beSure?(): Promise<void> | undefined;
  /** Ends it if its worker shuts down. @throws JobAbortedError when it has to stop */
  goOn?(): void;
  /** Undefined if no worker runs it. */
  readonly parts?: JobParts;
  onAbort(reason: JobAbortedError): void;
}

/** A job while its handler runs: the second argument of every handler, or `@CurrentJob()`. */
export class RunningJob<Input = unknown> {
  static {
    showAs(RunningJob, ({ fn, id, attempts }) => ({ fn, id, attempts }));
  }

  private controller?: AbortController;
  private reason?: JobAbortedError;
  /** @internal */
  isInBatch = false;
  /** What its run ends with, whatever hooks, interceptors and filters make of that. The first counts. @internal */
  endsWith?: HoldKeyError | BatchStoppedError;

  /** @internal */
  constructor(
    private readonly source: Pick<JobSource, 'progress'>,
    /** @internal */
    readonly claim: Claim,
    readonly input: Input,
    private readonly run: RunOfJob,
  ) {}

  get id(): string {
    return this.claim.id;
  }

  get fn(): string {
    return this.claim.fn;
  }

  /**
   * How often this job was started, this time included, and also by workers that died: those don't count for
   * `retry.attempts`. Whether it is tried again says `isLastAttempt`.
   */
  get attempts(): number {
    return this.claim.attempts;
  }

  /**
   * Whether the job has failed for good if this run throws, as the options for retries say and its system: workers that died
   * and snoozes don't count. An `UnrecoverableError` ends any job, and a `RetryLaterError` of one without `retry.attempts` none.
   */
  get isLastAttempt(): boolean {
    return this.run.isLastAttempt;
  }

  /** How often its handler postponed it with a SnoozeError. */
  get snoozes(): number {
    return this.claim.snoozes ?? 0;
  }

  /** Text that its client sent with the job: empty for jobs of plain clients and of other systems. */
  get headers(): JobHeaders {
    return this.claim.options.headers ?? NO_HEADERS;
  }

  /** What it is found by: empty for jobs of plain clients and of other systems. */
  get tags(): readonly string[] {
    return this.claim.options.tags ?? [];
  }

  /** The tick of a schedule that it belongs to. */
  get recurring(): RecurringTick | undefined {
    return this.claim.options.recurring;
  }

  /** Aborts when the job has to stop: its lease is lost, or the worker shuts down. */
  get signal(): AbortSignal {
    this.controller ??= controllerWithoutLimit();
    if (this.reason) this.controller.abort(this.reason);
    return this.controller.signal;
  }

  /**
   * Reports that `dividend` of `divisor` parts are done (the protocol's Worker.update). It need not be awaited, for
   * example in a listener of a stream: `signal` aborts when the job has to stop.
   *
   * @throws InvalidOptionError unless both are finite and `divisor` is more than 0
   * @throws JobAbortedError when the job has to stop
   */
  update(dividend: number, divisor: number): Promise<void> {
    return quietly(this.tell(dividend, divisor));
  }

  /**
   * Streams a part of the output to those who watch it, as `yield chunk(value)` does in a generator: at most 64 KiB as the
   * codec writes it. It need not be awaited; if it is, the handler goes no faster than the server.
   *
   * @throws NotSerializableError · PayloadTooLargeError · JobAbortedError when the job has to stop
   */
  chunk(value: unknown): Promise<void> {
    return quietly(this.goOn(() => this.need('streams').chunk(value)));
  }

  /** Adds a line to the job's log; one of more than 8,192 characters is cut. The same as `chunk` otherwise. */
  log(line: string): Promise<void> {
    return quietly(this.goOn(() => this.need('streams').log(line)));
  }

  /**
   * Runs a part of the job once: what it returns is recorded, and a later run of the same job, after a failed attempt, a
   * lost worker or a deploy, gets it from there. While the worker shuts down no step begins: the job goes back, and runs on
   * elsewhere. What it returns has the form that the codec gives it, in the first run too.
   *
   * @param name text of 1 to 100 characters, unique in the handler. For jobs of GearMonkey and `memory:`
   * @throws DuplicateStepError · StepsChangedError · StepTooLargeError · NotSerializableError · JobAbortedError when the job
   * has to stop · what `run` throws: it is not recorded then
   */
  step<Output>(name: string, run: () => Output | Promise<Output>): Promise<Output> {
    return quietly(this.goOn(() => this.need('steps').run(name, run)));
  }

  /**
   * The place of a loop: `value` is `start`, or where an earlier run of the same job stood. `advance` moves it on.
   *
   * @param name text of 1 to 100 characters, unique among the steps and cursors of the handler
   * @throws DuplicateStepError · StepsChangedError · JobAbortedError when the job has to stop
   */
  cursor<Value>(name: string, { start, codec }: CursorStart<Value>): Promise<JobCursor<Value>> {
    const written = codec === undefined ? undefined : codecOf(codec);
    return quietly(this.goOn(() => this.need('steps').cursor(name, start, written)));
  }

  /**
   * Waits for a signal of `client.signal`, and returns its data. Unless that has come already, this run ends and uses no slot:
   * when the signal comes, the handler runs again from its first line, with the steps that are recorded done. It counts as a
   * snooze, not as an attempt. While it waits, the handler must have no step and no other wait under way.
   *
   * @param name text of 1 to 100 characters without a colon, unique among the steps of the handler
   * @throws SignalTimeoutError behind `timeout`: the job fails for good unless the handler catches it · JobWaitsError, which
   * the handler must not catch · DuplicateStepError · StepsChangedError · UnreadablePayloadError · ConfigurationError in or
   * beside a step, beside another wait and in a batch · JobAbortedError when the job has to stop
   */
  waitFor<Data = unknown>(name: string, options: WaitOptions): Promise<Data> {
    return quietly(this.waitForSignal('waitFor', [name], options).then(({ data }) => data as Data));
  }

  /**
   * Waits as `waitFor` does, for the first of several signals: `const { name, data } = await job.waitForAny(['approved',
   * 'rejected'], { timeout: '7d' })`. Of several that have come it is the one that came first, in later runs too.
   *
   * @param names 1 to 20, as `waitFor` takes them
   * @throws as `waitFor`
   */
  waitForAny<Name extends string, Data = unknown>(
    names: readonly Name[],
    options: WaitOptions,
  ): Promise<JobSignal<Name, Data>> {
    return quietly(this.waitForSignal('waitForAny', names, options)) as Promise<JobSignal<Name, Data>>;
  }

  /**
   * The jobs that this one waited for, with their outputs, in the order of `children` or `after`: all of them, or those of one
   * function. Outputs of functions with a codec of their own need their definition. Empty for other jobs.
   *
   * @throws ParentLostError if one is no longer kept · UnreadablePayloadError · JobAbortedError when the job has to stop
   */
  parents<F extends FunctionRef>(ref?: F): Promise<ParentJob<OutputOf<F>>[]> {
    return quietly(this.goOn(() => this.need('parents').of(ref))) as Promise<ParentJob<OutputOf<F>>[]>;
  }

  /**
   * Ends this run, and lets no job with this job's limit key start for a time, for example after an API has answered 429.
   * The job goes back to the front without an attempt, whatever filters, interceptors and middleware make of the error. For
   * functions with a `limit`; without one the attempt fails.
   *
   * @throws HoldKeyError always: the handler must not catch it · InvalidOptionError
   */
  holdKey(span: Duration): never {
    const held = new HoldKeyError(span);
    throw (this.endsWith ??= held);
  }

  /** A batch has it from now on, unless its worker is shutting down. @throws JobAbortedError when it has to stop @internal */
  joinBatch(): void {
    this.run.goOn?.();
    if (this.reason) throw this.reason;
    this.isInBatch = true;
  }

  /** Whether its run is over, or has to stop. @internal */
  get isOver(): boolean {
    return this.run.hasEnded === true || this.reason !== undefined;
  }

  /**
   * Undefined if its lease is held for sure; else it resolves when it is, or the job has to stop.
   *
   * @throws what it stops or ends with already, as when an interceptor runs its handler again @internal
   */
  beSure(): Promise<void> | undefined {
    const end = this.reason ?? this.endsWith;
    if (end) throw end;
    return this.run.beSure?.();
  }

  /** Whether code of the app lets through why this job stops, also as the cause of another error. @internal */
  isStoppedBy(thrown: unknown): boolean {
    // A job that is over may end the call with holdKey as well.
    return [this.reason, this.endsWith].some((end) => end !== undefined && isFrom(thrown, end));
  }

  /** Aborts the signal; later calls change nothing. @internal */
  abort(reason: JobAbortedError): void {
    if (this.reason) return;
    this.reason = reason;
    this.controller?.abort(reason);
    this.run.onAbort(reason);
  }

  /** @throws JobAbortedError when the job has to stop */
  private async goOn<T>(to: () => Promise<T>): Promise<T> {
    if (this.reason) throw this.reason;
    return to();
  }

  private waitForSignal(
    call: 'waitFor' | 'waitForAny',
    names: readonly string[],
    options: WaitOptions,
  ): Promise<JobSignal> {
    return this.goOn(() => {
      const timeout = waitSpan(call, options);
      if (this.isInBatch)
        throw new ConfigurationError(
          `The batch handler of "${this.fn}" called job.${call}, which would end the runs of the other jobs. Use a handler without \`batch\`.`,
        );
      return this.need('steps').waitForAny(names, timeout);
    });
  }

  private need<Name extends 'steps' | 'streams' | 'parents'>(name: Name): JobParts[Name] {
    if (this.run.parts) return this.run.parts[name];
    throw new ConfigurationError(`This job has no ${name}: no worker runs it.`);
  }

  private async tell(dividend: number, divisor: number): Promise<void> {
    if (!Number.isFinite(dividend)) throw new InvalidOptionError('dividend', dividend, 'a finite number');
    if (!(divisor > 0 && divisor < Infinity))
      throw new InvalidOptionError('divisor', divisor, 'a number above 0');
    if (!(await this.source.progress(this.claim, dividend, divisor))) {
      this.abort(new LeaseLostError(this.fn, this.id));
    }
    if (this.reason) throw this.reason;
  }
}

/** A handler may give its signal to any number of calls; Node takes more than ten listeners for a leak. */
function controllerWithoutLimit(): AbortController {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  return controller;
}

/** For calls that may not be awaited: an unhandled rejection would end the process. */
function quietly<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}
