import { chunksOf } from '../../flow/chunks.js';
import type { QlessCalls } from './calls.js';
import type { Duration } from '../../job/duration.js';
import { checkOptions, optionNames } from '../../job/known-options.js';
import { dataText, optionArguments, toSeconds, withoutJid, type PutOptions } from './options.js';
import type { JobRecord, JobState } from '../wire/replies.js';
import { putArguments } from '../wire/requests.js';
import * as scripts from '../wire/scripts.js';
import { showAs } from '../../job/show-as.js';

/** Ids of one call: Redis serves no other call while it works through them. */
const JIDS_A_CALL = 1000;

/** What `complete` takes. */
export interface CompleteOptions {
  /** What the job's data is from now on. @default as it was */
  data?: unknown;
  /** The queue it moves on to. @default none: it is complete */
  next?: string;
  /** After how long it may go on. Only with `next`. */
  delay?: Duration;
  /** Jids of jobs that must be complete first, 5,000 at most. Only with `next`. */
  depends?: readonly string[];
}

/** What `retry` takes. */
export interface RetryJobOptions {
  /** After how long it may run. @default 0 */
  delay?: Duration;
  /** @default the queue it is in */
  queue?: string;
  /** Why it failed, with `message`. */
  group?: string;
  message?: string;
}

/** Names of the options of `complete`. */
export const COMPLETE_OPTIONS = optionNames<CompleteOptions>({
  data: true,
  next: true,
  delay: true,
  depends: true,
});
const RETRY_OPTIONS = optionNames<RetryJobOptions>({ delay: true, queue: true, group: true, message: true });

/** An entry of a job's history. */
export interface QlessHistoryItem {
  readonly what: string;
  readonly when: Date;
  readonly [field: string]: unknown;
}

/** Why a job has failed. */
export interface QlessFailure {
  readonly group: string;
  readonly message: string;
  readonly when: Date;
  readonly worker: string;
}

/** Of seconds since 1970. */
const dateOf = (seconds: number): Date => new Date(seconds * 1000);

/** A job as it was when it was read or popped, and what can be done with it. */
export class QlessJob {
  static {
    showAs(QlessJob, ({ jid, klass, queue, state }) => ({ jid, klass, queue, state }));
  }

  /** @internal */
  constructor(
    private readonly calls: QlessCalls,
    /** All that is known of it, as the core writes it: times are seconds there, and a Date or milliseconds here. */
    readonly record: JobRecord,
  ) {}

  get jid(): string {
    return this.record.jid;
  }

  get klass(): string {
    return this.record.klass;
  }

  get queue(): string {
    return this.record.queue;
  }

  get state(): JobState {
    return this.record.state;
  }

  /** @throws SyntaxError where another client put what is no JSON */
  get data(): unknown {
    return JSON.parse(this.record.data);
  }

  /** When its lock ends; null without one. */
  get expires(): Date | null {
    return this.record.expires > 0 ? dateOf(this.record.expires) : null;
  }

  /** What happened to it, oldest first; log messages have fields of their own. */
  get history(): QlessHistoryItem[] {
    return this.record.history.map((item) => ({ ...item, when: dateOf(item.when) }));
  }

  /** Why it failed, where it has. */
  get failure(): QlessFailure | null {
    const { failure } = this.record;
    return failure && { ...failure, when: dateOf(failure.when) };
  }

  /** Its new state. @throws ConfigurationError, InvalidOptionError, QlessJobLostError, QlessStateError, QlessJobNotFoundError */
  async complete(changes: CompleteOptions = {}): Promise<JobState> {
    const { data, delay, ...options } = checkOptions('complete', changes, COMPLETE_OPTIONS);
    const { jid, klass, worker, queue, data: before } = this.record;
    const text = data === undefined ? before : dataText(klass, data);
    const seconds = delay === undefined ? undefined : toSeconds('delay', delay, 0);
    const given = optionArguments({ ...options, delay: seconds });
    return this.calls.sendOnce(scripts.complete, jid, worker, queue, text, given);
  }

  /** Files it under a group of failures. @throws as `complete` */
  async fail(group: string, message: string, data?: unknown): Promise<void> {
    const { jid, klass, worker } = this.record;
    await this.calls.sendOnce(scripts.fail, jid, worker, group, message, this.given(klass, data));
  }

  /** How many retries remain; negative when it failed because there were none. @throws as `complete` */
  async retry(options: RetryJobOptions = {}): Promise<number> {
    const { delay = 0, queue = this.queue, group, message } = checkOptions('retry', options, RETRY_OPTIONS);
    const { jid, worker } = this.record;
    const failure: [] | [string, string] =
      group !== undefined && message !== undefined ? [group, message] : [];
    return this.calls.sendOnce(scripts.retry, jid, queue, worker, toSeconds('delay', delay, 0), failure);
  }

  /** When its lock ends now. @throws as `complete` */
  async heartbeat(data?: unknown): Promise<Date> {
    const { jid, klass, worker } = this.record;
    const expires = await this.calls.sendRetrying(scripts.heartbeat, jid, worker, this.given(klass, data));
    return dateOf(expires);
  }

  /** Appends to its history, with the fields of `data`. @throws QlessJobNotFoundError, NotSerializableError */
  async log(message: string, data?: Readonly<Record<string, unknown>>): Promise<void> {
    await this.calls.sendOnce(scripts.log, this.jid, message, this.given(this.klass, data));
  }

  /** Puts it into a queue, where it starts over: a worker that runs it loses it. @throws QlessJobNotFoundError if it is gone */
  async move(queue: string, changes: Omit<PutOptions, 'jid'> = {}): Promise<void> {
    const { delay = 0, ...options } = withoutJid('move', changes);
    const { jid, klass, data } = this.record;
    const times = { delay: toSeconds('delay', delay, 0) };
    const request = { queue, jid, klass, data, ...times, options: optionArguments({ ...options }) };
    await this.calls.sendOnce(scripts.requeue, ...putArguments(request));
  }

  /** Deletes it. @throws QlessDependencyError when others depend on it */
  async cancel(): Promise<void> {
    await this.calls.sendRetrying(scripts.cancel, [this.jid]);
  }

  /** Takes it from its worker; it is popped next. @throws QlessStateError unless it runs */
  timeout(): Promise<void> {
    return this.calls.sendOnce(scripts.timeout, [this.jid]);
  }

  /** Its tags. @throws QlessJobNotFoundError */
  tag(...tags: string[]): Promise<string[]> {
    return this.calls.sendRetrying(scripts.tag, 'add', this.jid, tags);
  }

  /** Its tags. @throws QlessJobNotFoundError */
  untag(...tags: string[]): Promise<string[]> {
    return this.calls.sendRetrying(scripts.tag, 'remove', this.jid, tags);
  }

  /** Whether that changed something. @throws QlessJobNotFoundError */
  track(): Promise<boolean> {
    return this.calls.sendRetrying(scripts.track, 'track', this.jid);
  }

  untrack(): Promise<boolean> {
    return this.calls.sendRetrying(scripts.track, 'untrack', this.jid);
  }

  /** Higher runs first. @throws QlessJobNotFoundError */
  async prioritize(priority: number): Promise<void> {
    await this.calls.sendRetrying(scripts.priority, this.jid, priority);
  }

  /** @throws QlessStateError unless it depends on others already */
  async dependOn(...jids: string[]): Promise<void> {
    for (const part of chunksOf(jids, JIDS_A_CALL))
      await this.calls.sendRetrying(scripts.depends, this.jid, 'on', part);
  }

  /** Without arguments it depends on nothing any more; 5,000 jids at most. @throws QlessStateError unless it depends on others */
  async undepend(...jids: string[]): Promise<void> {
    await this.calls.sendOnce(scripts.depends, this.jid, 'off', jids.length === 0 ? ['all'] : jids);
  }

  private given(klass: string, data: unknown): [] | [string] {
    return data === undefined ? [] : [dataText(klass, data)];
  }
}
