import { randomUUID } from 'node:crypto';
import { from, Observable } from 'rxjs';
import { codecOf, write, type Codec, type CodecName } from '../../job/codec.js';
import { millisecondsOr, toMilliseconds, type Duration } from '../../job/duration.js';
import { InvalidOptionError } from '../../job/errors.js';
import { checkOptions, optionNames } from '../../job/known-options.js';
import type { Health } from '../../job/health.js';
import type { QueueOverview } from '../../job/job-views.js';
import { instrumentation, tracedEnqueue } from '../../job/instrumentation.js';
import {
  functionName,
  type AnyJobDefinition,
  type FunctionRef,
  type InputOf,
  type OutputOf,
} from '../../job/job-definition.js';
import { validate } from '../../job/standard-schema.js';
import { realNow } from '../../job/real-time.js';
import { Backoff } from '../http/backoff.js';
import { JqRefusedError, JqUnreachableError } from '../http/master-errors.js';
import {
  isTemporary,
  MasterHttp,
  refused,
  type MasterAddress,
  type MasterReply,
} from '../http/master-http.js';
import { readOverview } from '../http/name-overview.js';
import { messagePack } from '../message-pack/codec.js';
import { pack } from '../message-pack/pack.js';
import { Raw } from '../message-pack/raw.js';
import { LONGEST_POLL_SECONDS } from '../wire/polling.js';
import { JqJobFailedError, JqJobNotFoundError, JqNotCancellableError } from './client-errors.js';
import { checkKey, jobFields, type JqEnqueueOptions } from './enqueue-options.js';
import { hasEnded, readJob, readJobId, type JqJob } from './jq-job.js';
import { JqJobHandle, type JqPollOptions } from './jq-job-handle.js';
import { MasterCalls } from './master-calls.js';
import { showAs } from '../../job/show-as.js';

/** Options of `JqClient`. */
export interface JqClientOptions extends MasterAddress {
  /** How long a call retries during outages of the master before it rejects. @default '10s' */
  timeout?: Duration;
  /** The codec of arguments and results whose definition has none. @default MessagePack */
  codec?: CodecName | Codec;
}

const KNOWN = optionNames<JqClientOptions>({
  master: true,
  token: true,
  ca: true,
  timeout: true,
  codec: true,
});
const POLL = optionNames<JqPollOptions>({ timeout: true, signal: true });

/** A function's name for messages and codecs. A job's id alone identifies it. */
type Ref = FunctionRef | undefined;

const DEFAULT_TIMEOUT = '10s';
const DEFAULT_POLL = '5s';
const RESULT_POLL = '30s';
/** So many refusals without a reason, one after the other, are the master's: fewer may be of something in between. */
const MOST_UNEXPLAINED = 6;

/** Enqueues jobs at a JQ master, and reads them. */
export class JqClient {
  static {
    showAs(JqClient, ({ calls }) => ({ master: calls.url }));
  }

  private readonly calls: MasterCalls;
  private readonly codec: Codec;

  /** @throws InvalidOptionError, ConfigurationError */
  constructor(options: JqClientOptions) {
    checkOptions('JqClient', options, KNOWN);
    const timeout = millisecondsOr(DEFAULT_TIMEOUT, 'timeout', options.timeout);
    this.calls = new MasterCalls(new MasterHttp(options), timeout);
    this.codec = options.codec === undefined ? messagePack : codecOf(options.codec);
  }

  /**
   * Asks the master whether it serves requests: for readiness probes. Rejects only for a wrong `timeout`.
   *
   * @param timeout @default '1s'
   * @throws InvalidOptionError
   */
  ping(timeout: Duration = '1s'): Promise<Health> {
    return this.calls.ping(timeout);
  }

  /**
   * Resolves when the master has the job. A lost reply makes no second job: retries carry the same
   * Idempotency-Key.
   *
   * @throws ConfigurationError, InvalidOptionError, ValidationError, NotSerializableError, JqRefusedError, JqUnreachableError
   */
  async enqueue<F extends FunctionRef>(
    ref: F,
    argument: InputOf<F>,
    options: JqEnqueueOptions = {},
  ): Promise<JqJobHandle<OutputOf<F>>> {
    const definition: AnyJobDefinition = typeof ref === 'string' ? { name: functionName(ref) } : ref;
    const fields = jobFields(options, definition);
    const key = checkKey(options.idempotencyKey ?? randomUUID());
    const input = await validate(definition.input, definition.name, 'input', argument);
    const body = pack({ name: definition.name, argument: this.argument(ref, input), ...fields });
    const post = () => this.post(definition.name, body, key);
    const event = () => ({ system: 'jq', server: this.calls.url, fn: definition.name, count: 1 });
    const id = instrumentation.enqueue.hasSubscribers
      ? await tracedEnqueue(event(), post, (posted) => [posted])
      : await post();
    return new JqJobHandle<OutputOf<F>>(this, id, ref);
  }

  /**
   * Enqueues a job whose result is kept, and waits for it until the signal aborts.
   *
   * @throws JqJobFailedError, and what `enqueue` throws
   */
  async call<F extends FunctionRef>(
    ref: F,
    argument: InputOf<F>,
    { signal, ...options }: JqEnqueueOptions & { signal?: AbortSignal } = {},
  ): Promise<OutputOf<F>> {
    signal?.throwIfAborted();
    const { id } = await this.enqueue(ref, argument, { keepResult: true, ...options });
    return (await this.untilEnded(id, ref, signal)) as OutputOf<F>;
  }

  /** Returns the job, or null if the master doesn't know it. A kept result is dropped some time after it was first read. */
  async get<F extends FunctionRef = string>(id: string, ref?: F): Promise<JqJob<OutputOf<F>> | null> {
    const reply = await this.calls.ask('GET', pathOf(id));
    if (reply.status === 404) return null;
    if (reply.status !== 200) throw refused(`Job ${id}`, reply);
    return this.read(id, ref, reply) as JqJob<OutputOf<F>>;
  }

  /**
   * Returns the job once it has ended, or null after the timeout. A timeout that is longer than a master holds a request
   * takes several requests.
   *
   * @throws ConfigurationError, InvalidOptionError, JqJobNotFoundError
   */
  async poll<F extends FunctionRef = string>(
    id: string,
    options: JqPollOptions = {},
    ref?: F,
  ): Promise<JqJob<OutputOf<F>> | null> {
    const { timeout = DEFAULT_POLL, signal } = checkOptions('poll', options, POLL);
    const seconds = Math.ceil(toMilliseconds('timeout', timeout, { least: 0 }) / 1000);
    const backoff = new Backoff();
    for (let left = seconds; ; left -= LONGEST_POLL_SECONDS) {
      const wait = Math.min(left, LONGEST_POLL_SECONDS);
      const path = `${pathOf(id)}/polling?timeout=${wait}`;
      const begun = realNow();
      const reply = await this.calls.ask('GET', path, { wait: wait * 1000, signal, answer: 408 });
      if (reply.status === 408 && left > LONGEST_POLL_SECONDS) {
        await this.calls.afterPoll(backoff, begun, signal);
        continue;
      }
      if (reply.status === 408) return null;
      if (reply.status === 404) throw new JqJobNotFoundError(id, { cause: refused(`Job ${id}`, reply) });
      if (reply.status !== 200 || reply.body.length === 0) throw refused(`Job ${id}`, reply);
      const job = this.read(id, ref, reply) as JqJob<OutputOf<F>>;
      return hasEnded(job) ? job : null;
    }
  }

  /**
   * Cancels a job that waits for its first attempt.
   *
   * @throws JqNotCancellableError when it has begun, JqJobNotFoundError
   */
  async cancel(id: string): Promise<void> {
    const reply = await this.calls.ask('DELETE', pathOf(id));
    // The reply to the first request may have been lost.
    if (reply.status === 404 && reply.isRepeated) return;
    if (reply.status === 404) throw new JqJobNotFoundError(id);
    if (reply.status === 409) throw new JqNotCancellableError(id);
    if (reply.status !== 204) throw refused(`Job ${id}`, reply);
  }

  /**
   * Emits the result once the job is done, or JqJobFailedError. Cold; it waits as long as it is
   * subscribed, also through outages.
   */
  result<F extends FunctionRef = string>(id: string, ref?: F): Observable<OutputOf<F>> {
    return new Observable<OutputOf<F>>((subscriber) => {
      const abort = new AbortController();
      const result = from(this.untilEnded(id, ref, abort.signal) as Promise<OutputOf<F>>).subscribe(
        subscriber,
      );
      return () => {
        result.unsubscribe();
        abort.abort();
      };
    });
  }

  /**
   * The names of jobs, at most 1,000, in the form of all systems. A master with tokens tells them to its admins alone.
   *
   * @throws JqRefusedError, JqUnreachableError
   */
  overview(): Promise<QueueOverview[]> {
    return readOverview((path) => this.calls.ask('GET', path));
  }

  /** Rejects calls that are under way, and closes the connections. */
  async close(): Promise<void> {
    await this.calls.close();
  }

  private async post(name: string, body: Buffer, key: string): Promise<string> {
    const reply = await this.calls.ask('POST', '/job', { body, headers: { 'idempotency-key': key } });
    if (reply.status !== 201) throw refused(`A job "${name}"`, reply);
    return readJobId(reply.body);
  }

  private async untilEnded(id: string, ref: Ref, signal?: AbortSignal): Promise<unknown> {
    const backoff = new Backoff();
    const options = { timeout: RESULT_POLL, signal };
    let unexplained = 0;
    for (;;) {
      const begun = realNow();
      const job = await this.poll(id, options, ref).catch((error: unknown) => {
        if (isOutage(error)) return undefined;
        if (isUnexplained(error) && ++unexplained < MOST_UNEXPLAINED) return undefined;
        throw error;
      });
      if (job !== undefined) unexplained = 0;
      if (job?.status === 'done') return job.result;
      if (job) throw new JqJobFailedError(id, job.message ?? 'without a message', job.error);
      await this.calls.afterPoll(backoff, begun, signal);
    }
  }

  private argument(ref: FunctionRef, value: unknown): Raw {
    const fn = functionName(ref);
    const payload = write(this.codecFor(ref), fn, 'input', value);
    const raw = new Raw(Buffer.from(payload));
    if (typeof payload !== 'string' && raw.isMap) return raw;
    throw new InvalidOptionError('argument', value, 'a map: a plain object');
  }

  private codecFor(ref: Ref): Codec {
    return (typeof ref === 'object' ? ref.codec : undefined) ?? this.codec;
  }

  private read(id: string, ref: Ref, { body }: MasterReply): JqJob {
    return readJob(id, ref === undefined ? id : functionName(ref), this.codecFor(ref), body);
  }
}

function pathOf(id: string): string {
  return `/job/${encodeURIComponent(id)}`;
}

/** Refusals that may be of something in between: the master's have a reason, unless it only implements the contract. */
function isUnexplained(error: unknown): boolean {
  const refusal = error instanceof JqJobNotFoundError ? error.cause : error;
  return refusal instanceof JqRefusedError && refusal.reason === undefined;
}

/** Errors that the next try may not have. */
function isOutage(error: unknown): boolean {
  if (error instanceof JqRefusedError) return error.status < 400 || isTemporary(error);
  return error instanceof JqUnreachableError;
}
