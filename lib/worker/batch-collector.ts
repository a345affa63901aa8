// Of the module, not the global: a test's fake timers must not keep jobs from running.
import { clearTimeout, setTimeout } from 'node:timers';
import type { Claim } from '../job/job-source.js';
import { withoutContext } from '../job/without-context.js';
import { BatchStoppedError, outcomesOf, type BatchLimits } from './batch.js';
import type { RunningJob } from './running-job.js';

/** Runs a batch: a method of the user's. */
export type BatchHandler = (inputs: unknown[], jobs: RunningJob[]) => unknown;

/** A job that waits for its batch, or is in one. */
interface Item {
  readonly input: unknown;
  readonly job: RunningJob;
  readonly resolve: (output: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** Collects the jobs of one function, each of which has its own lease, timeout and outcome, and runs them together. */
export class BatchCollector {
  /** How many jobs the next batch has at most. */
  private size: number;
  private readonly collected = new Set<Item>();
  private timer: NodeJS.Timeout | undefined;
  private isDue = false;
  /** Whether it is being found out which of the collected jobs are lost. */
  private asking = false;
  /** The batches that use their places: those of their jobs whose runs have not ended. */
  private readonly batches = new Set<Set<Claim>>();
  /** The batch of each of these jobs. */
  private readonly placed = new Map<Claim, Set<Claim>>();
  /** How many batches may run at a time; one at least, for jobs that were collected before. */
  private most = 1;
  /** Called when places are taken or freed that no job uses: when a batch begins, and when it has its places no more. */
  onPlaces: () => void = () => undefined;

  constructor(
    private readonly fn: string,
    private readonly limits: BatchLimits,
    private readonly handle: BatchHandler,
  ) {
    this.size = limits.size;
  }

  /** Lets so many batches run at a time. */
  allow(concurrency: number): void {
    this.most = Math.max(1, concurrency);
    this.begin();
  }

  /** How many jobs may be claimed, if `running` have begun and `concurrency` batches may run. A batch uses all of its places. */
  free(concurrency: number, running: number): number {
    return (concurrency - this.batches.size) * this.limits.size - (running - this.placed.size);
  }

  /** The run of a job has ended, which its batch may not know yet. After the last one it has no place any more, though its handler goes on. */
  ended(claim: Claim): void {
    const batch = this.placed.get(claim);
    if (!batch) return;
    this.leave(batch, claim);
    if (batch.size > 0) return;
    this.batches.delete(batch);
    this.onPlaces();
    // Not within the end of another job's run.
    queueMicrotask(() => this.begin());
  }

  private leave(batch: Set<Claim>, claim: Claim): void {
    batch.delete(claim);
    this.placed.delete(claim);
  }

  /** Runs a job with others. Resolves with its output, or rejects with what its attempt fails with. */
  add(input: unknown, job: RunningJob): Promise<unknown> {
    return new Promise((resolve, reject) => {
      job.joinBatch();
      const { signal } = job;
      const item: Item = { input, job, resolve, reject };
      this.collected.add(item);
      // A job that is cancelled, lost or given back leaves the batch.
      signal.addEventListener('abort', () => {
        this.collected.delete(item);
        if (this.collected.size === 0) this.rest();
        reject(signal.reason as Error);
      });
      this.timer ??= setTimeout(() => {
        this.isDue = true;
        this.begin();
      }, this.limits.wait);
      // A suspect runs alone, and its process waits for it.
      if (job.claim.suspect) this.isDue = true;
      this.begin();
    });
  }

  /** The jobs that no batch has yet. */
  get waiting(): Claim[] {
    return [...this.collected].map(({ job }) => job.claim);
  }

  private begin(): void {
    while (!this.asking && this.batches.size < this.most && this.isReady()) {
      const items = [...this.collected].slice(0, this.size);
      const over = items.filter(({ job }) => job.isOver || job.endsWith);
      for (const item of over) {
        this.collected.delete(item);
        // A hook may have held its key and gone on. Of another end its abort tells.
        if (item.job.endsWith) item.reject(item.job.endsWith);
      }
      if (over.length > 0) continue;
      // The process was stopped while they waited, perhaps: those that are lost leave the batch.
      const uncertain = askAll(items.map(({ job }) => job));
      if (uncertain.length > 0) return this.ask(uncertain);
      for (const item of items) this.collected.delete(item);
      if (this.collected.size === 0) this.rest();
      withoutContext(() => void this.run(items));
    }
  }

  private ask(uncertain: readonly Promise<void>[]): void {
    this.asking = true;
    void Promise.allSettled(uncertain).then(() => {
      this.asking = false;
      this.begin();
    });
  }

  private isReady(): boolean {
    if (this.collected.size === 0) this.rest();
    return this.collected.size >= this.size || (this.isDue && this.collected.size > 0);
  }

  /** The next job begins to wait anew. */
  private rest(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.isDue = false;
  }

  private async run(items: readonly Item[]): Promise<void> {
    const batch = new Set(items.map(({ job }) => job.claim));
    this.batches.add(batch);
    for (const claim of batch) this.placed.set(claim, batch);
    this.onPlaces();
    const inputs = items.map(({ input }) => input);
    const jobs = items.map(({ job }) => job);
    try {
      const outcomes = outcomesOf(this.fn, items.length, await this.handle(inputs, jobs));
      for (const [index, { resolve, reject }] of items.entries())
        settle(outcomes[index]?.take ?? (() => undefined), resolve, reject);
    } catch (error) {
      giveBackOthers(jobs, error);
      // Newest first: of those that go back the oldest ends up in front.
      for (const { job, reject } of items.toReversed()) reject(job.endsWith ?? error);
    } finally {
      // Else a batch with a slow guard might never begin while now and then one of its jobs is cancelled.
      this.size = goBack(jobs) ? Math.ceil(jobs.length / 2) : this.limits.size;
      this.batches.delete(batch);
      for (const claim of batch) this.leave(batch, claim);
      this.onPlaces();
      this.begin();
    }
  }
}

/**
 * Runs the method of a batch unless one of its jobs has had to stop. The others go back then, and if the method throws why one
 * stops: this is decided here, within all that may replace the error.
 */
export async function runBatch(jobs: readonly RunningJob[], method: () => unknown): Promise<unknown> {
  try {
    for (let asked = askAll(jobs); asked.length > 0; asked = askAll(jobs)) await Promise.all(asked);
    return await method();
  } catch (error) {
    giveBackOthers(jobs, error);
    throw error;
  }
}

/** The reason why one job had to stop is none for the others, and neither is that its key is held. */
export function giveBackOthers(jobs: readonly RunningJob[], thrown: unknown): void {
  if (!jobs.some((job) => job.isStoppedBy(thrown))) return;
  const stopped = new BatchStoppedError(thrown);
  for (const job of jobs) if (!job.isOver) job.endsWith ??= stopped;
}

function goBack(jobs: readonly RunningJob[]): boolean {
  return jobs.some(({ endsWith }) => endsWith instanceof BatchStoppedError);
}

/** @throws why one of them has to stop */
function askAll(jobs: readonly RunningJob[]): Promise<void>[] {
  return jobs.flatMap((job) => job.beSure() ?? []);
}

function settle(take: () => unknown, resolve: Item['resolve'], reject: Item['reject']): void {
  try {
    resolve(take());
  } catch (error) {
    reject(error);
  }
}
