import { setTimeout as delay } from 'node:timers/promises';
import { checkWhole } from '../../job/check-whole.js';
import { toMilliseconds, type Duration } from '../../job/duration.js';
import { checkOptions, optionNames } from '../../job/known-options.js';
import type { RedisConnection } from '../../redis/redis-connection.js';
import type { QlessCalls } from './calls.js';
import { QlessJob } from './qless-job.js';
import { checkPopping, checkQueues } from '../queues/queue-names.js';
import { QueueWaiter } from '../queues/queue-waiter.js';
import type { Claimed } from '../wire/replies.js';
import { claimArguments } from '../wire/requests.js';
import * as scripts from '../wire/source-scripts.js';
import { showAs } from '../../job/show-as.js';

/** How long `close` may take; usually it is one round trip. */
const CLOSE_MS = 250;

/** Options of `pop`. */
export interface PopOptions {
  /** At most 250. @default 1 */
  count?: number;
  /** How long it waits for the first job. @default 0 */
  wait?: Duration;
  /** Ends the wait. */
  signal?: AbortSignal;
}

/** Options of a popper: its queues, their order, and its worker. */
export interface PopperOptions {
  readonly queues: readonly string[];
  /** @default 'ordered' */
  readonly popping?: 'ordered' | 'round-robin';
  /** The worker that locks the jobs. */
  readonly worker: string;
}

const POP = optionNames<PopOptions>({ count: true, wait: true, signal: true });
const POPPER = optionNames<PopperOptions>({ queues: true, popping: true, worker: true });

/** Connections for calls that block, kept for the next. */
export interface BlockingConnections {
  take(): RedisConnection;
  giveBack(connection: RedisConnection): void;
}

/** Pops from several queues. */
export class QlessPopper {
  static {
    showAs(QlessPopper, ({ options: { queues, worker } }) => ({ queues, worker }));
  }

  private first = 1;
  private readonly options: Required<PopperOptions>;

  /** @internal @throws ConfigurationError, InvalidOptionError */
  constructor(
    private readonly calls: QlessCalls,
    private readonly blocking: BlockingConnections,
    options: PopperOptions,
  ) {
    checkOptions('popper', options, POPPER);
    this.options = {
      worker: options.worker,
      queues: checkQueues(options.queues),
      popping: checkPopping(options.popping ?? 'ordered'),
    };
  }

  /**
   * Returns up to `count` jobs, locked for the worker. If there are none, it waits for `wait`.
   *
   * @throws ConfigurationError, InvalidOptionError, QlessArgumentError, ConnectionError
   */
  async pop(options: PopOptions = {}): Promise<QlessJob[]> {
    const { count = 1, wait = 0, signal } = checkOptions('pop', options, POP);
    checkWhole('count', count, 0);
    const ms = toMilliseconds('wait', wait, { least: 0 });
    if (ms > 0 && count > 0) return this.await(count, ms, signal ?? new AbortController().signal);
    return this.jobsOf(await this.claim(count));
  }

  private async await(count: number, wait: number, signal: AbortSignal): Promise<QlessJob[]> {
    const connection = this.blocking.take();
    const { prefix, commands } = this.calls.connections;
    const waiter = new QueueWaiter({ prefix, commands, blocking: connection }, this.options.queues);
    const until = performance.now() + wait;
    try {
      for (;;) {
        const claimed = await this.claim(count, waiter);
        const left = until - performance.now();
        if (claimed.jobs.length > 0 || left <= 0 || signal.aborted) return this.jobsOf(claimed);
        const { due } = claimed;
        await waiter.wait(due === undefined ? left : Math.min(left, due * 1000), signal);
      }
    } finally {
      // Jobs that are locked by now must not wait for a connection that is down.
      const closed = waiter.close().finally(() => this.blocking.giveBack(connection));
      await Promise.race([closed, delay(CLOSE_MS, undefined, { ref: false })]);
    }
  }

  private async claim(count: number, waiter?: QueueWaiter): Promise<Claimed> {
    const { queues, worker, popping } = this.options;
    const request = claimArguments({
      ...{ worker, lock: '', popping, first: this.first, count, waiter: waiter?.id ?? '' },
      ...{ wakeOthers: false, slots: [], queues: queues.map((queue) => [queue, 0]) },
    });
    const claimed = await this.calls.sendOnce(scripts.claim, ...request);
    this.first = claimed.first;
    if (claimed.jobs.length === 0 && claimed.due !== 0) waiter?.registered();
    return claimed;
  }

  private jobsOf({ jobs }: Claimed): QlessJob[] {
    return jobs.map((record) => new QlessJob(this.calls, record));
  }
}
