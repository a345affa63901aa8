import { chunksOf, type QlessCalls } from './calls.js';
import { dataText, optionArguments, type PutOptions } from './options.js';
import type { JobRecord, JobState } from '../wire/replies.js';
import * as scripts from '../wire/scripts.js';

/** Ids of one call: each is work that nobody else's call comes between. */
const JIDS_A_CALL = 1000;

export interface CompleteOptions {
  /** What the job's data is from now on. @default as it was */
  data?: unknown;
  /** The queue in which it goes on. @default none: it is complete */
  next?: string;
  /** Seconds until it may go on. Only with `next`. */
  delay?: number;
  /** Jids that must be complete before it goes on, 5,000 at most. Only with `next`. */
  depends?: readonly string[];
}

export interface RetryJobOptions {
  /** Seconds until it may run. @default 0 */
  delay?: number;
  /** @default the queue it is in */
  queue?: string;
  /** Why it failed, with `message`. */
  group?: string;
  message?: string;
}

/** A job as it was when it was read or popped, and what can be done with it. */
export class QlessJob {
  constructor(
    private readonly calls: QlessCalls,
    /** All that is known of it. */
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

  /** Its new state. @throws QlessJobLostError, QlessStateError, QlessJobNotFoundError */
  complete({ data, ...options }: CompleteOptions = {}): Promise<JobState> {
    const { jid, klass, worker, queue, data: before } = this.record;
    const text = data === undefined ? before : dataText(klass, data);
    return this.calls.tell(scripts.complete, jid, worker, queue, text, optionArguments({ ...options }));
  }

  /** Files it under a group of failures. @throws as `complete` */
  async fail(group: string, message: string, data?: unknown): Promise<void> {
    const { jid, klass, worker } = this.record;
    await this.calls.tell(scripts.fail, jid, worker, group, message, this.given(klass, data));
  }

  /** How many retries remain; negative when it failed because there were none. @throws as `complete` */
  retry({ delay = 0, queue = this.queue, group, message }: RetryJobOptions = {}): Promise<number> {
    const { jid, worker } = this.record;
    const failure: [] | [string, string] =
      group !== undefined && message !== undefined ? [group, message] : [];
    return this.calls.tell(scripts.retry, jid, queue, worker, delay, failure);
  }

  /** When its lock ends now. @throws as `complete` */
  async heartbeat(data?: unknown): Promise<Date> {
    const { jid, klass, worker } = this.record;
    const expires = await this.calls.ask(scripts.heartbeat, jid, worker, this.given(klass, data));
    return new Date(expires * 1000);
  }

  /** Appends to its history, with the fields of `data`. @throws QlessJobNotFoundError, NotSerializableError */
  async log(message: string, data?: Readonly<Record<string, unknown>>): Promise<void> {
    await this.calls.tell(scripts.log, this.jid, message, this.given(this.klass, data));
  }

  /** Puts it into a queue, where it begins anew: whoever works on it loses it. @throws QlessJobNotFoundError if it is gone */
  async move(queue: string, { delay = 0, ...options }: Omit<PutOptions, 'jid'> = {}): Promise<void> {
    const { jid, klass, data } = this.record;
    await this.calls.tell(
      scripts.requeue,
      '',
      queue,
      jid,
      klass,
      data,
      delay,
      optionArguments({ ...options }),
    );
  }

  /** Deletes it. @throws QlessDependencyError when others depend on it */
  async cancel(): Promise<void> {
    await this.calls.ask(scripts.cancel, [this.jid]);
  }

  /** Takes it from its worker; it is the next to be popped. @throws QlessStateError unless it runs */
  timeout(): Promise<void> {
    return this.calls.tell(scripts.timeout, [this.jid]);
  }

  /** Its tags. @throws QlessJobNotFoundError */
  tag(...tags: string[]): Promise<string[]> {
    return this.calls.ask(scripts.tag, 'add', this.jid, tags);
  }

  /** Its tags. @throws QlessJobNotFoundError */
  untag(...tags: string[]): Promise<string[]> {
    return this.calls.ask(scripts.tag, 'remove', this.jid, tags);
  }

  /** Whether that changed something. @throws QlessJobNotFoundError */
  track(): Promise<boolean> {
    return this.calls.ask(scripts.track, 'track', this.jid);
  }

  untrack(): Promise<boolean> {
    return this.calls.ask(scripts.track, 'untrack', this.jid);
  }

  /** Higher runs first. @throws QlessJobNotFoundError */
  async prioritize(priority: number): Promise<void> {
    await this.calls.ask(scripts.priority, this.jid, priority);
  }

  /** @throws QlessStateError unless it depends on others already */
  async dependOn(...jids: string[]): Promise<void> {
    for (const part of chunksOf(jids, JIDS_A_CALL))
      await this.calls.ask(scripts.depends, this.jid, 'on', part);
  }

  /** Without arguments it depends on nothing any more; 5,000 jids at most. @throws QlessStateError unless it depends on others */
  async undepend(...jids: string[]): Promise<void> {
    await this.calls.tell(scripts.depends, this.jid, 'off', jids.length === 0 ? ['all'] : jids);
  }

  private given(klass: string, data: unknown): [] | [string] {
    return data === undefined ? [] : [dataText(klass, data)];
  }
}
