import { randomUUID } from 'node:crypto';
import { chunksOf } from '../../batching/chunks.js';
import { instrumentation, tracedEnqueue } from '../../job/instrumentation.js';
import { checkOptions } from '../../job/known-options.js';
import type { QlessCalls } from './calls.js';
import {
  dataText,
  NEW_JOB_OPTIONS,
  optionArguments,
  pageArguments,
  PUT_OPTIONS,
  RECUR_OPTIONS,
  timeInSeconds,
  toSeconds,
  withoutJid,
  type PageOptions,
  type PutOptions,
  type RecurOptions,
} from './options.js';
import type { PopOptions, QlessPopper } from './qless-popper.js';
import { QlessJob } from './qless-job.js';
import type { QueueCounts, QueueStats } from '../wire/replies.js';
import { putArguments, recurArguments } from '../wire/requests.js';
import * as scripts from '../wire/scripts.js';
import { showAs } from '../../job/show-as.js';

/** A job to put. */
export interface NewJob extends PutOptions {
  klass: string;
  /** Anything that has JSON. @default {} */
  data?: unknown;
}

/** The states by which a queue lists its jobs. */
export type QueueState = 'running' | 'stalled' | 'scheduled' | 'depends' | 'recurring' | 'waiting';

/** Calls that are sent before the first is answered. */
const PIPELINED = 100;

/** One queue. */
export class QlessQueue {
  static {
    showAs(QlessQueue, ({ name }) => ({ name }));
  }

  /** @internal */
  constructor(
    private readonly calls: QlessCalls,
    readonly name: string,
    private readonly popper: () => QlessPopper,
  ) {}

  /**
   * Puts a job, and returns its jid. Without a `jid` the job is put once, however often the connection breaks. With
   * one, an existing job of that jid is moved to this queue and starts over.
   *
   * @throws ConfigurationError, InvalidOptionError, QlessArgumentError, NotSerializableError, ConnectionError
   */
  async put(klass: string, data?: unknown, given: PutOptions = {}): Promise<string> {
    if (!instrumentation.enqueue.hasSubscribers) return this.putNow(klass, data, given);
    const event = { system: 'qless', server: this.calls.connections.commands.address, fn: klass, count: 1 };
    return tracedEnqueue(
      event,
      () => this.putNow(klass, data, given),
      (jid) => [jid],
    );
  }

  private async putNow(klass: string, data: unknown, given: PutOptions): Promise<string> {
    const { jid, ...options } = checkOptions('put', given, PUT_OPTIONS);
    if (jid !== undefined)
      return this.calls.sendOnce(scripts.put, ...this.putArguments({ ...options, jid, klass, data }));
    const made = randomUUID().replaceAll('-', '');
    await this.calls.sendRetrying(
      scripts.putAbsent,
      ...this.putArguments({ ...options, jid: made, klass, data }),
    );
    return made;
  }

  /** Puts a job unless one of that jid exists, in any queue and state. Returns whether it was put. @throws as `put` */
  async putAbsent(
    jid: string,
    klass: string,
    data?: unknown,
    options: Omit<PutOptions, 'jid'> = {},
  ): Promise<boolean> {
    const request = this.putArguments({ ...withoutJid('putAbsent', options), jid, klass, data });
    return (await this.calls.sendOnce(scripts.putAbsent, ...request)) !== null;
  }

  /** Puts jobs, a hundred per round trip, and returns their jids. @throws as `put`; some may have been put then */
  async putMany(jobs: readonly NewJob[]): Promise<string[]> {
    for (const job of jobs) checkOptions('putMany', job, NEW_JOB_OPTIONS);
    const jids: string[] = [];
    for (const part of chunksOf(jobs, PIPELINED)) {
      const put = part.map(({ klass, data, ...options }) => this.put(klass, data, options));
      jids.push(...(await Promise.all(put)));
    }
    return jids;
  }

  /**
   * Returns up to `count` jobs, locked for the worker. If there are none, it waits for `wait`.
   *
   * @throws InvalidOptionError, QlessArgumentError, ConnectionError
   */
  pop(options?: PopOptions): Promise<QlessJob[]> {
    return this.popper().pop(options);
  }

  /** Returns the jobs that would be popped next, at most 250. */
  async peek(count = 1): Promise<QlessJob[]> {
    const records = await this.calls.sendRetrying(scripts.peek, this.name, count);
    return records.map((record) => new QlessJob(this.calls, record));
  }

  /** Returns how many jobs are in each state. */
  counts(): Promise<QueueCounts> {
    return this.calls.sendRetrying(scripts.queue, this.name);
  }

  /** Returns how many jobs are locked, waiting or scheduled. */
  length(): Promise<number> {
    return this.calls.sendRetrying(scripts.length, this.name);
  }

  /** Returns how long jobs waited and ran on the day of `date`. @throws InvalidOptionError */
  async stats(date: Date = new Date()): Promise<QueueStats> {
    return this.calls.sendRetrying(scripts.stats, this.name, timeInSeconds('date', date));
  }

  /** Returns the jids of jobs in a state; waiting and scheduled ones in the order in which they will be popped. */
  async jids(state: QueueState, page?: PageOptions): Promise<string[]> {
    return this.calls.sendRetrying(scripts.jobs, state, this.name, ...pageArguments(page));
  }

  /** Stops pops of this queue until `unpause`. */
  pause(): Promise<void> {
    return this.calls.sendRetrying(scripts.pause, [this.name]);
  }

  /** Ends a pause. */
  unpause(): Promise<void> {
    return this.calls.sendRetrying(scripts.unpause, [this.name]);
  }

  /** Removes the queue from the list of queues; its jobs stay. */
  forget(): Promise<void> {
    return this.calls.sendRetrying(scripts.forgetQueues, [this.name]);
  }

  /** Puts the oldest failed jobs of a group into this queue, with all their retries, at most 250. Returns how many. */
  unfail(group: string, count = 25): Promise<number> {
    return this.calls.sendOnce(scripts.unfail, this.name, group, count);
  }

  /** Puts a job at regular intervals; an existing recurring job of that jid is changed. Returns its jid. @throws InvalidOptionError, QlessArgumentError */
  async recur(klass: string, data: unknown, given: RecurOptions): Promise<string> {
    const {
      jid = randomUUID().replaceAll('-', ''),
      interval,
      offset = 0,
      ...options
    } = checkOptions('recur', given, RECUR_OPTIONS);
    const times = { interval: toSeconds('interval', interval), offset: toSeconds('offset', offset, 0) };
    const job = { queue: this.name, jid, klass, data: dataText(klass, data), ...times };
    return this.calls.sendRetrying(
      scripts.recur,
      ...recurArguments({ ...job, options: optionArguments({ ...options }) }),
    );
  }

  private putArguments({ jid, klass, data, delay = 0, ...options }: NewJob & { readonly jid: string }) {
    const job = { queue: this.name, jid, klass, data: dataText(klass, data) };
    const seconds = toSeconds('delay', delay, 0);
    return putArguments({ ...job, delay: seconds, options: optionArguments({ ...options }) });
  }
}
