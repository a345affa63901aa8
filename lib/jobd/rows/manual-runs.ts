import type { JobResult } from '../vocabulary/job-result.js';
import { RequestError } from '../vocabulary/errors.js';
import type { ManualResults } from '../vocabulary/operations.js';

/** How a manual job ended for its client: with a result, or with an error's message. */
export type ManualEnd = JobResult | string;

/** A limit, because results are kept until the last one of their request. */
const MAX_WAITING = 1000;

/** Clients that wait for manual jobs; one per job. */
export class ManualRuns {
  private readonly waiting = new Map<number, (end: ManualEnd) => void>();

  get size(): number {
    return this.waiting.size;
  }

  /** @throws RequestError if another client waits for one of them, or if there are too many; none is waited for then */
  wait(ids: readonly number[]): Map<number, Promise<ManualEnd>> {
    const taken = ids.find((id) => this.waiting.has(id));
    if (taken !== undefined) throw new RequestError(`another client is already waiting for job ${taken}`);
    if (this.waiting.size + ids.length > MAX_WAITING)
      throw new RequestError(
        `too many manual jobs: ${this.waiting.size} are waited for, and ${MAX_WAITING} may be`,
      );
    return new Map(
      ids.map((id) => [id, new Promise<ManualEnd>((resolve) => this.waiting.set(id, resolve))] as const),
    );
  }

  /** The results, once all jobs have ended. */
  async results(ends: ReadonlyMap<number, Promise<ManualEnd>>): Promise<ManualResults> {
    const results: ManualResults = { jobs: new Map(), errors: new Map() };
    for (const [id, ending] of ends) {
      const end = await ending;
      if (typeof end === 'string') results.errors.set(id, end);
      else results.jobs.set(id, end);
    }
    return results;
  }

  /** Does nothing for a job that no client waits for. */
  end(id: number, end: ManualEnd): void {
    this.waiting.get(id)?.(end);
    this.waiting.delete(id);
  }
}
