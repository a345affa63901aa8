import { realNow } from '../../job/real-time.js';
import * as operations from './operations.js';
import type { PullCount } from '../wire/requests.js';
import type { HandedJob, JobView } from './operations.js';
import { PullWaits } from './pull-waits.js';
import { shuttingDown } from './engine-errors.js';
import type { EngineLife } from './engine-life.js';
import { READING_MS } from './settings.js';
import type { TurnQueue } from './turn-queue.js';

/** The most workers whose names are remembered. */
const MAX_WORKERS = 10_000;
/** How long a pull may take beyond its time if there is no answer by then. */
const OVERTIME_MS = 2000;

/** Requests that wait for the end of a job, or for a job to run. Other masters wake them through channels. */
export class LongPolls {
  private readonly ends = new EndWaits();
  private readonly pulls = new PullWaits();
  private readonly namesOf = new Map<string, readonly string[]>();

  constructor(
    private readonly turns: TurnQueue,
    private readonly life: EngineLife,
    /** Resolves when stale jobs have been matched with the constraints. */
    private readonly reassigned: () => Promise<void> | undefined,
  ) {}

  /**
   * The job once it has ended, or its state when the time is over or the signal aborts.
   *
   * @throws EngineUnavailableError if it would have to wait and the engine has stopped: a client that got its state would ask again at once
   */
  async end(id: string, ms: number, signal?: AbortSignal): Promise<JobView | undefined> {
    const until = performance.now() + ms;
    const isRefused = ms > 0 && !this.life.may('hold');
    for (;;) {
      const left = this.life.may('hold') ? Math.max(0, until - performance.now()) : 0;
      const waiter = this.ends.wait(id, left, signal);
      try {
        const view = await this.turns.run(operations.read(id, left > 0 ? 'wait' : 'read'));
        if (!view || operations.hasEnded(view)) return view;
        if (isRefused) throw shuttingDown();
        if (left === 0) return view;
        await waiter.woken;
        // A client that has disconnected has not read a result.
        if (signal?.aborted) return view;
      } finally {
        waiter.cancel();
      }
    }
  }

  /**
   * Returns a job; `undefined` when the time is over or the signal aborts; or why the worker can get none.
   *
   * @throws EngineUnavailableError if the engine has stopped
   */
  async pull(
    worker: string,
    ms: number,
    signal?: AbortSignal,
    count = operations.UNCOUNTED,
  ): Promise<HandedJob | undefined | 'unknown worker'> {
    if (!this.life.may('hold')) throw shuttingDown();
    /** The wake-ups that it has not used or handed on. */
    const words = new Map<string, number>();
    try {
      return await this.pullOn({ worker, count }, words, ms, signal);
    } finally {
      // A pull that has a job, or failed, leaves later wake-ups to others.
      this.pulls.handOn(words);
    }
  }

  private async pullOn(
    { worker, count }: { readonly worker: string; readonly count: PullCount },
    words: Map<string, number>,
    ms: number,
    signal?: AbortSignal,
  ): Promise<HandedJob | undefined | 'unknown worker'> {
    const [until, begun] = [performance.now() + ms, realNow()];
    let isOver = false;
    while (!isOver && this.life.may('hold')) {
      const waiter = this.pulls.wait(worker, this.namesOf.get(worker), until - performance.now(), signal);
      const asked = realNow();
      try {
        const { status, job, names } = await this.turns.run(operations.pull(worker, count));
        if (status === 'unknown worker') return status;
        const isNew = this.remember(worker, names);
        const isTaken = job !== undefined && (await this.take(job, asked));
        // If there is no job for this worker, there is none for others that want the same names.
        if (status === 'none' && !isNew) words.clear();
        if (isTaken) return { ...job, waited: asked - begun };
        // Another has the job by now. A pull that is counted gets no second one.
        if (job) return undefined;
        const isAnswer = status === 'none' || status === 'full';
        if (isAnswer) await waiter.woken;
        else if (status === 'stale') await this.reassigned();
        // If there was too much to read, the next turn continues.
        isOver = signal?.aborted === true || performance.now() >= until + (isAnswer ? 0 : OVERTIME_MS);
      } finally {
        waiter.end();
        if (words.size > 0) this.pulls.handOn(words);
        words.clear();
        for (const [topic, word] of waiter.heard) words.set(topic, word);
      }
    }
    return undefined;
  }

  /** Whether its worker has it. If that is known late, as this process was stopped, its time may be up: it counts anew. */
  private async take(job: HandedJob, asked: number): Promise<boolean> {
    const isTaken = await this.turns.run(operations.accept(job));
    if (!isTaken || realNow() - asked <= READING_MS) return isTaken;
    return this.turns.run(operations.confirm(job.worker, { jobId: job.id, attempt: job.attempt }));
  }

  wakeEnd(id: string): void {
    this.ends.wake(id);
  }

  /** @param topics what has come up: see PullWaits */
  wakePulls(topics: string): void {
    this.pulls.hear(topics);
  }

  /** After wake-ups may have been missed, or when requests must not wait any longer. */
  wakeAll(): void {
    this.ends.wakeAll();
    this.pulls.wakeAll();
  }

  /** True if they were new. A worker's names never change. */
  private remember(worker: string, names: readonly string[]): boolean {
    if (this.namesOf.has(worker)) return false;
    if (this.namesOf.size >= MAX_WORKERS) this.namesOf.clear();
    this.namesOf.set(worker, names);
    return true;
  }
}

/** A waiter is called at most once. */
type Waiter = () => void;

/** Long polls that wait for a key. */
class EndWaits {
  private readonly byKey = new Map<string, Set<Waiter>>();

  /** `woken` resolves when the key is woken, the time is over, the signal aborts, or `cancel` is called. */
  wait(key: string, ms: number, signal?: AbortSignal): { readonly woken: Promise<void>; cancel(): void } {
    let end: Waiter = () => undefined;
    const woken = new Promise<void>((resolve) => (end = resolve));
    const waiters = this.byKey.get(key) ?? new Set();
    const cancel = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', cancel);
      waiters.delete(cancel);
      if (waiters.size === 0 && this.byKey.get(key) === waiters) this.byKey.delete(key);
      end();
    };
    const timer = setTimeout(cancel, ms);
    signal?.addEventListener('abort', cancel);
    this.byKey.set(key, waiters.add(cancel));
    if (signal?.aborted) cancel();
    return { woken, cancel };
  }

  /** Wakes all long polls that wait for the key. */
  wake(key: string): void {
    for (const waiter of Array.from(this.byKey.get(key) ?? [])) waiter();
  }

  wakeAll(): void {
    for (const key of Array.from(this.byKey.keys())) this.wake(key);
  }
}
