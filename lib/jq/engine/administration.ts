import { QueueFullError } from './engine-errors.js';
import { isJobId, isWorkerId } from './ids.js';
import { readDetails, readSummary, type JobDetails, type JobSummary } from './job-details.js';
import type { JobStatus, Operation } from './operations.js';
import type { Argument } from './turn.js';
import { readWorker, type WorkerDetails, type WorkerSummary } from './worker-details.js';

interface Runner {
  run<Reply>(operation: Operation<Reply>): Promise<Reply>;
}

/** Where a page ended. Listed items are not listed again, even if they change meanwhile. */
export interface Place {
  readonly score: string;
  readonly member: string;
}

export interface Page<Row> {
  readonly rows: readonly Row[];
  /** Absent on the last page. A page may be short though others follow. */
  readonly next?: Place;
}

export interface PageRequest {
  readonly limit: number;
  readonly after?: Place;
}

export interface NameCounts {
  readonly name: string;
  readonly queued: number;
  readonly retrying: number;
  readonly error: number;
  readonly done: number;
}

export type Counts = Readonly<Record<JobStatus | 'workers', number>>;

/** The result of retrying or discarding a job. */
export type Change = 'retried' | 'discarded' | 'missing' | 'conflict';

/** How many dead jobs were requeued or discarded, and whether there are more. */
export interface Cleared {
  readonly count: number;
  readonly more: boolean;
}

/** Reads and changes jobs and workers for operators. None of it counts as a pusher's request. */
export class Administration {
  constructor(private readonly turns: Runner) {}

  /** Jobs of a status, newest first by the time they got it. */
  jobs(status: JobStatus, name: string | undefined, page: PageRequest): Promise<Page<JobSummary>> {
    const decode = pageOf((row) => readSummary(status, row as Buffer[]));
    return this.ask('list_jobs', [status, name ?? '', ...placeOf(page), page.limit], decode);
  }

  /** `undefined` for a job that never existed or was forgotten. Its result does not count as read. */
  async job(id: string): Promise<JobDetails | undefined> {
    return isJobId(id) ? this.ask('inspect', [id], (reply) => readDetails(id, reply)) : undefined;
  }

  /**
   * Enqueues a dead job again with all its retries, or a job that waits for its next attempt at once.
   *
   * @throws QueueFullError
   */
  async retry(id: string, onlyDead = false): Promise<Change> {
    if (!isJobId(id)) return 'missing';
    const change = await this.ask('retry', [id, onlyDead ? 1 : 0], (reply) => String(reply));
    if (change === 'full') throw new QueueFullError();
    return change as Change;
  }

  /** Deletes a job, unless a worker has it. */
  async discard(id: string, onlyDead = false): Promise<Change> {
    if (!isJobId(id)) return 'missing';
    return this.ask('discard', [id, onlyDead ? 1 : 0], (reply) => String(reply) as Change);
  }

  /** Dead jobs, the oldest first, at most `limit`; those of a name if one is given. @throws QueueFullError */
  async requeueDead(limit: number, name = ''): Promise<Cleared> {
    return this.clear('requeue_dead', limit, name);
  }

  /** As `requeueDead`, but deletes them. */
  async discardDead(limit: number, name = ''): Promise<Cleared> {
    return this.clear('discard_dead', limit, name);
  }

  /** Workers, newest registration first. */
  workers(page: PageRequest): Promise<Page<WorkerSummary>> {
    return this.ask('list_workers', [...placeOf(page), page.limit], pageOf(readWorker));
  }

  async worker(id: string): Promise<WorkerDetails | undefined> {
    if (!isWorkerId(id)) return undefined;
    return this.ask('inspect_worker', [id], (reply) =>
      (reply as unknown[]).length > 0 ? readWorker(reply) : undefined,
    );
  }

  counts(): Promise<Counts> {
    return this.ask('counts', [], (reply) => {
      const [queued = 0, running = 0, retrying = 0, error = 0, done = 0, workers = 0] = reply as number[];
      return { queued, running, retrying, error, done, workers };
    });
  }

  /** Names of jobs, with counts. */
  names(page: PageRequest): Promise<Page<NameCounts>> {
    const decode = pageOf((row) => {
      const [name, queued, retrying, error, done] = row as [Buffer, number, number, number, number];
      return { name: String(name), queued, retrying, error, done };
    });
    return this.ask('list_names', [...placeOf(page), page.limit], decode);
  }

  /** A few per turn. */
  private async clear(name: 'requeue_dead' | 'discard_dead', limit: number, of: string): Promise<Cleared> {
    let count = 0;
    for (;;) {
      const decode = (reply: unknown) => reply as [number, number, Buffer];
      const [settled, left, why] = await this.ask(name, [of, limit - count], decode);
      count += settled;
      if (String(why) === 'full' && count === 0) throw new QueueFullError();
      const more = left === 1;
      if (!more || count >= limit || settled === 0 || String(why) === 'full') return { count, more };
    }
  }

  private ask<Reply>(
    name: string,
    args: readonly Argument[],
    decode: (reply: unknown) => Reply,
  ): Promise<Reply> {
    return this.turns.run({ name, args, decode });
  }
}

function placeOf({ after }: PageRequest): [score: string, member: string] {
  return [after?.score ?? '', after?.member ?? ''];
}

function pageOf<Row>(read: (row: unknown) => Row): (reply: unknown) => Page<Row> {
  return (reply) => {
    const [rows, score, member] = reply as [unknown[], Buffer, Buffer];
    const next = score.length > 0 ? { next: { score: String(score), member: String(member) } } : {};
    return { rows: rows.map(read), ...next };
  };
}
