import { codecOf, payloadBytes, read, write, type Codec, type Payload } from '../job/codec.js';
import { PayloadTooLargeError, toErrorInfo, type JobAbortedError } from '../job/errors.js';
import type { Claim, JobSource, Outcome } from '../job/job-source.js';
import { validate } from '../job/standard-schema.js';
import type { HandlerBinding } from './job-handler.js';
import { settleResult } from './handler-result.js';
import { RunningJob } from './running-job.js';

/** What holds for all handlers of a worker. */
export interface ExecutionLimits {
  /** The codec of functions whose definition names none. */
  readonly codec: Codec;
  readonly maxPayloadBytes: number;
}

/** One claimed job being run: it ends with an outcome, once. */
export class JobExecution {
  private job?: RunningJob;
  private ended = false;
  private reason?: JobAbortedError;

  constructor(
    readonly claim: Claim,
    private readonly binding: HandlerBinding,
    private readonly limits: ExecutionLimits,
    private readonly source: Pick<JobSource, 'progress'>,
    private readonly onEnd: (execution: JobExecution, outcome: Outcome | undefined) => void,
  ) {}

  start(): void {
    this.run().then(
      (output) => this.end({ claim: this.claim, status: 'success', output }),
      (error: unknown) => this.end({ claim: this.claim, status: 'error', error: toErrorInfo(error) }),
    );
  }

  /** Ends it now, whatever its handler does from here on. Without an outcome nothing is settled. */
  abort(reason: JobAbortedError, outcome?: Outcome): void {
    this.reason = reason;
    this.end(outcome);
    this.job?.abort(reason);
  }

  private async run(): Promise<Payload> {
    const { definition, handle } = this.binding;
    const codec = definition.codec ?? this.limits.codec;
    const received = read(codec, this.claim.fn, 'input', this.claim.input);
    const input = definition.input
      ? await validate(definition.input, definition.name, 'input', received)
      : received;
    // Whoever aborted it while the schema took its time gave it back: it may run elsewhere by now.
    if (this.reason) throw this.reason;
    this.job = new RunningJob(this.source, this.claim, input, () => this.end(undefined));
    const returned = await settleResult(await handle(input, this.job), this.job);
    const output = definition.output
      ? await validate(definition.output, definition.name, 'output', returned)
      : returned;
    return this.encode(codec, output);
  }

  private encode(codec: Codec, value: unknown): Payload {
    const output = write(codec, this.claim.fn, 'output', value);
    const bytes = payloadBytes(output);
    const { maxPayloadBytes } = this.limits;
    if (bytes > maxPayloadBytes)
      throw new PayloadTooLargeError(this.claim.fn, 'output', bytes, maxPayloadBytes);
    return output;
  }

  private end(outcome: Outcome | undefined): void {
    if (this.ended) return;
    this.ended = true;
    this.onEnd(this, outcome);
  }
}

/** @throws InvalidOptionError for an unknown codec */
export function executionLimits(options: {
  codec?: Parameters<typeof codecOf>[0];
  maxPayloadBytes: number;
}): ExecutionLimits {
  return { codec: codecOf(options.codec), maxPayloadBytes: options.maxPayloadBytes };
}
