import * as operations from './operations.js';
import type { HandedJob, JobView } from './operations.js';
import type { Turns } from './turns.js';
import { Waiting } from './waiting.js';

const READY = 'ready';
/** How many pulls are tried when a job has come up; each that succeeds lets the next try. */
const PULLS_AT_ONCE = 4;

/** Requests that wait: for the end of a job, or for a job to run. Other masters wake them through channels. */
export class LongPolls {
  private readonly ends = new Waiting();
  private readonly pulls = new Waiting();
  private stopped = false;

  constructor(
    private readonly turns: Turns,
    /** Resolves when jobs that wanted it have been matched with the constraints. */
    private readonly relaned: () => Promise<void> | undefined,
  ) {}

  /** The job once it has ended, or as it is when the time is over or the signal aborts. */
  async end(id: string, ms: number, signal?: AbortSignal): Promise<JobView | undefined> {
    const waiter = this.ends.wait(id, this.stopped ? 0 : ms, signal);
    try {
      const view = await this.turns.run(operations.read(id, true));
      if (!view || operations.hasEnded(view)) return view;
      await waiter.woken;
      // Whoever is gone has not read a result.
      if (signal?.aborted) return view;
      return await this.turns.run(operations.read(id));
    } finally {
      waiter.cancel();
    }
  }

  /** A job, `undefined` when the time is over or the signal aborts, or what is wrong. */
  async pull(
    worker: string,
    ms: number,
    signal?: AbortSignal,
  ): Promise<HandedJob | undefined | 'unknown worker'> {
    const until = performance.now() + ms;
    let rank = 0;
    for (;;) {
      const waiter = this.pulls.wait(READY, Math.max(0, until - performance.now()), signal);
      try {
        const reply = await this.turns.run(operations.pull(worker, rank));
        if (reply.status === 'unknown worker') return reply.status;
        if (reply.status === 'job' || reply.status === 'unsuitable') this.wakePulls(1);
        if (reply.status === 'job') return reply.job;
        rank = reply.status === 'more' ? reply.rank : 0;
        if (reply.status === 'stale') await this.relaned();
        if (reply.status === 'stale' || reply.status === 'more') continue;
        await waiter.woken;
        if (this.stopped || signal?.aborted || performance.now() >= until) return undefined;
      } finally {
        waiter.cancel();
      }
    }
  }

  wakeEnd(id: string): void {
    this.ends.wake(id);
  }

  wakePulls(count = PULLS_AT_ONCE): void {
    this.pulls.wake(READY, count);
  }

  /** Words may have been missed. */
  wakeAll(): void {
    this.ends.wakeAll();
    this.pulls.wakeAll();
  }

  /** Whoever waits gets what there is. */
  stop(): void {
    this.stopped = true;
    this.wakeAll();
  }
}
