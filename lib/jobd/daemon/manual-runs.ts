import type { JobResult } from '../launcher/job-result.js';
import { RefusedRequestError } from './errors.js';
import type { ManualResults } from './operations.js';

/** How a manual job ended for its client: by running, or by an error's message. */
export type ManualEnd = JobResult | string;

/** Clients that wait for manual jobs; one a job. */
export class ManualRuns {
  private readonly waiting = new Map<number, (end: ManualEnd) => void>();

  get size(): number {
    return this.waiting.size;
  }

  /** @throws RefusedRequestError when somebody waits for one of them already; then none is waited for */
  wait(ids: readonly number[]): Map<number, Promise<ManualEnd>> {
    const taken = ids.find((id) => this.waiting.has(id));
    if (taken !== undefined)
      throw new RefusedRequestError(`another client is already waiting for job ${taken}`);
    return new Map(
      ids.map((id) => [id, new Promise<ManualEnd>((resolve) => this.waiting.set(id, resolve))] as const),
    );
  }

  /** What was waited for, when all of it has ended. */
  async results(ends: ReadonlyMap<number, Promise<ManualEnd>>): Promise<ManualResults> {
    const results: ManualResults = { jobs: new Map(), errors: new Map() };
    for (const [id, ending] of ends) {
      const end = await ending;
      if (typeof end === 'string') results.errors.set(id, end);
      else results.jobs.set(id, end);
    }
    return results;
  }

  /** For a job that nobody waits for, nothing happens. */
  end(id: number, end: ManualEnd): void {
    this.waiting.get(id)?.(end);
    this.waiting.delete(id);
  }
}
