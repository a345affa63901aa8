import type { Duration } from '../job/duration.js';
import { InvalidOptionError } from '../job/errors.js';
import { LeaseLostError, type JobAbortedError } from '../job/abort-errors.js';
import { NO_HEADERS, type JobHeaders } from '../job/headers.js';
import type { RecurringTick } from '../job/recurring.js';
import type { Claim, JobSource } from '../job/job-source.js';
import { HoldKeyError } from '../job/limit-errors.js';
import { showAs } from '../job/show-as.js';

/** A job while its handler runs: the second argument of every handler, or `@CurrentJob()`. */
export class RunningJob<Input = unknown> {
  static {
    showAs(RunningJob, ({ fn, id, attempts }) => ({ fn, id, attempts }));
  }

  private controller?: AbortController;
  private reason?: JobAbortedError;

  /** @internal */
  constructor(
    private readonly source: Pick<JobSource, 'progress'>,
    /** @internal */
    readonly claim: Claim,
    readonly input: Input,
    private readonly onAbort: (reason: JobAbortedError) => void,
  ) {}

  get id(): string {
    return this.claim.id;
  }

  get fn(): string {
    return this.claim.fn;
  }

  /** How often this job was started, this time included. */
  get attempts(): number {
    return this.claim.attempts;
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
    this.controller ??= new AbortController();
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
    const told = this.tell(dividend, divisor);
    // The call may not be awaited, and an unhandled rejection would end the process.
    told.catch(() => undefined);
    return told;
  }

  /**
   * Ends this run, and lets no job with this job's limit key start for a time, for example after an API has answered 429.
   * The job goes back to the front without an attempt. For functions with a `limit`; without one the attempt fails.
   *
   * @throws HoldKeyError always: the handler must not catch it · InvalidOptionError
   */
  holdKey(span: Duration): never {
    throw new HoldKeyError(span);
  }

  /** Aborts the signal; later calls change nothing. @internal */
  abort(reason: JobAbortedError): void {
    if (this.reason) return;
    this.reason = reason;
    this.controller?.abort(reason);
    this.onAbort(reason);
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
