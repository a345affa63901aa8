import { chunksOf } from '../../batching/chunks.js';
import type { QlessCalls } from './calls.js';
import type { Duration } from '../../job/duration.js';
import { checkOptions, optionNames } from '../../job/known-options.js';
import { dataText, optionArguments, toSeconds, withoutJid, type PutOptions } from './options.js';
import type { JobRecord, QlessState } from '../wire/replies.js';
import { putArguments } from '../wire/requests.js';
import * as scripts from '../wire/scripts.js';
import { showAs } from '../../job/show-as.js';

/** Ids of one call: Redis serves no other call while it works through them. */
const JIDS_A_CALL = 1000;

/** Options of `complete`. */
export interface CompleteOptions {
  /** New data of the job. @default its data stays */
  data?: unknown;
  /** The queue that it moves to. @default none: it is complete */
  next?: string;
  /** How long it waits in that queue before it may run. Only with `next`. */
  delay?: Duration;
  /** Jids of the jobs that must be complete first, at most 5,000. Only with `next`. */
  depends?: readonly string[];
}

/** Options of `retry`. */
export interface RetryJobOptions {
  /** How long it waits before it may run. @default 0 */
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

/** Converts seconds since 1970. */
const dateOf = (seconds: number): Date => new Date(seconds * 1000);

/** A job as it was when it was read or popped, with methods that change it. */
export class QlessJob {
  static {
    showAs(QlessJob, ({ jid, klass, queue, state }) => ({ jid, klass, queue, state }));
  }

  /** @internal */
  constructor(
    private readonly calls: QlessCalls,
    /** All fields as the core writes them, times in seconds. The properties of this class have Dates and milliseconds. */
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

  get state(): QlessState {
    return this.record.state;
  }

  /** @throws SyntaxError if another client has put data that is not JSON */
  get data(): unknown {
    return JSON.parse(this.record.data);
  }

  /** When its lock ends; null if it has none. */
  get expires(): Date | null {
    return this.record.expires > 0 ? dateOf(this.record.expires) : null;
  }

  /** Its events, oldest first. Log messages have their own fields. */
  get history(): QlessHistoryItem[] {
    return this.record.history.map((item) => ({ ...item, when: dateOf(item.when) }));
  }

  /** Why it failed; null if it has not. */
  get failure(): QlessFailure | null {
    const { failure } = this.record;
    return failure && { ...failure, when: dateOf(failure.when) };
  }

  /** Completes it, and returns its new state. @throws ConfigurationError, InvalidOptionError, QlessJobLostError, QlessStateError, QlessJobNotFoundError */
  async complete(changes: CompleteOptions = {}): Promise<QlessState> {
    const { data, delay, ...options } = checkOptions('complete', changes, COMPLETE_OPTIONS);
    const { jid, klass, worker, queue, data: before } = this.record;
    const text = data === undefined ? before : dataText(klass, data);
    const seconds = delay === undefined ? undefined : toSeconds('delay', delay, 0);
    const given = optionArguments({ ...options, delay: seconds });
    return this.calls.sendOnce(scripts.complete, jid, worker, queue, text, given);
  }

  /** Fails it, with the group that it is listed in. @throws as `complete` */
  async fail(group: string, message: string, data?: unknown): Promise<void> {
    const { jid, klass, worker } = this.record;
    await this.calls.sendOnce(scripts.fail, jid, worker, group, message, this.given(klass, data));
  }

  /** Puts it back into a queue. Returns how many retries remain; negative if there were none, and it failed. @throws as `complete` */
  async retry(options: RetryJobOptions = {}): Promise<number> {
    const { delay = 0, queue = this.queue, group, message } = checkOptions('retry', options, RETRY_OPTIONS);
    const { jid, worker } = this.record;
    const failure: [] | [string, string] =
      group !== undefined && message !== undefined ? [group, message] : [];
    return this.calls.sendOnce(scripts.retry, jid, queue, worker, toSeconds('delay', delay, 0), failure);
  }

  /** Renews its lock, and returns when it ends. @throws as `complete` */
  async heartbeat(data?: unknown): Promise<Date> {
    const { jid, klass, worker } = this.record;
    const expires = await this.calls.sendRetrying(scripts.heartbeat, jid, worker, this.given(klass, data));
    return dateOf(expires);
  }

  /** Appends to its history, with the fields of `data`. @throws QlessJobNotFoundError, NotSerializableError */
  async log(message: string, data?: Readonly<Record<string, unknown>>): Promise<void> {
    await this.calls.sendOnce(scripts.log, this.jid, message, this.given(this.klass, data));
  }

  /** Moves it to a queue, where it starts over. A worker that runs it loses it. @throws QlessJobNotFoundError */
  async move(queue: string, changes: Omit<PutOptions, 'jid'> = {}): Promise<void> {
    const { delay = 0, ...options } = withoutJid('move', changes);
    const { jid, klass, data } = this.record;
    const times = { delay: toSeconds('delay', delay, 0) };
    const request = { queue, jid, klass, data, ...times, options: optionArguments({ ...options }) };
    await this.calls.sendOnce(scripts.requeue, ...putArguments(request));
  }

  /** Deletes it. @throws QlessDependencyError if other jobs depend on it */
  async cancel(): Promise<void> {
    await this.calls.sendRetrying(scripts.cancel, [this.jid]);
  }

  /** Takes it from its worker; it is popped next. @throws QlessStateError if it is not running */
  timeout(): Promise<void> {
    return this.calls.sendOnce(scripts.timeout, [this.jid]);
  }

  /** Adds tags, and returns all tags of the job. @throws QlessJobNotFoundError */
  tag(...tags: string[]): Promise<string[]> {
    return this.calls.sendRetrying(scripts.tag, 'add', this.jid, tags);
  }

  /** Removes tags, and returns the rest. @throws QlessJobNotFoundError */
  untag(...tags: string[]): Promise<string[]> {
    return this.calls.sendRetrying(scripts.tag, 'remove', this.jid, tags);
  }

  /** Publishes its events to `QlessEvents.tracked` from now on. False if it was tracked already. @throws QlessJobNotFoundError */
  track(): Promise<boolean> {
    return this.calls.sendRetrying(scripts.track, 'track', this.jid);
  }

  /** Ends `track`. False if it was not tracked. */
  untrack(): Promise<boolean> {
    return this.calls.sendRetrying(scripts.track, 'untrack', this.jid);
  }

  /** Sets its priority: jobs with a higher one run first. @throws QlessJobNotFoundError */
  async prioritize(priority: number): Promise<void> {
    await this.calls.sendRetrying(scripts.priority, this.jid, priority);
  }

  /** Adds jobs that must be complete first. @throws QlessStateError unless it depends on other jobs already */
  async dependOn(...jids: string[]): Promise<void> {
    for (const part of chunksOf(jids, JIDS_A_CALL))
      await this.calls.sendRetrying(scripts.depends, this.jid, 'on', part);
  }

  /** Removes such jobs, at most 5,000; all of them without arguments. @throws QlessStateError unless it depends on other jobs */
  async undepend(...jids: string[]): Promise<void> {
    await this.calls.sendOnce(scripts.depends, this.jid, 'off', jids.length === 0 ? ['all'] : jids);
  }

  private given(klass: string, data: unknown): [] | [string] {
    return data === undefined ? [] : [dataText(klass, data)];
  }
}
