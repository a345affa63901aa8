import { setImmediate } from 'node:timers/promises';
import { messageOf } from '../../job/errors.js';
import { acceptUnlessRefused } from '../rows/accept-unless-refused.js';
import type { RowsInHand } from '../rows/rows-in-hand.js';
import type { JobTable } from '../storage/job-table.js';
import { nowInSeconds } from '../storage/row-writer.js';
import type { JobdLog } from '../vocabulary/log.js';

export interface RowFetcherOptions {
  /** 0 for no limit. */
  readonly fetchLimit: number;
  readonly log: JobdLog;
}

/** Fetches waiting rows of polled targets as soon as they have room, also after outages. */
export class RowFetcher {
  private isFetching = false;

  constructor(
    private readonly table: JobTable,
    private readonly rows: RowsInHand,
    private readonly options: RowFetcherOptions,
  ) {}

  /** Call this when a target was polled, or may have room again. */
  wake(): void {
    if (this.isFetching || !this.canFetch) return;
    this.isFetching = true;
    void this.fetchAll();
  }

  private get canFetch(): boolean {
    return !this.rows.signal.aborted && this.rows.polled.isReady;
  }

  private async fetchAll(): Promise<void> {
    while (this.canFetch) {
      // Lets other work run between fetches.
      await setImmediate();
      try {
        await this.fetch([...this.rows.polled.take().keys()]);
      } catch (error) {
        if (!this.rows.signal.aborted) this.options.log.error(`A poll failed: ${messageOf(error)}`);
      }
    }
    // In the same step as the check above, so that no wake-up is lost in between.
    this.isFetching = false;
  }

  private async fetch(targets: readonly string[]): Promise<void> {
    if (targets.length === 0) return;
    const { fetchLimit, log } = this.options;
    const { polled, accepted: held, signal } = this.rows;
    const { acceptance, database } = this.table;
    // One time for both queries: a row that fell due between two times would be missed by both.
    const now = nowInSeconds();
    const refused = new Set<number>();
    const fetch = (limit: number, only?: number) =>
      held.accept(() => acceptance.waiting(targets, limit, now, only), signal);
    const fetched = await acceptUnlessRefused(
      {
        together: () => fetch(fetchLimit),
        rows: () => database.insist(() => acceptance.dueRows(targets, fetchLimit, now), { signal }),
        one: ({ id }) => fetch(1, id),
        onRefused: ({ id }) => refused.add(id),
      },
      log,
    );
    const jobs = fetched.flatMap(({ accepted }) => accepted);
    if (fetchLimit > 0 && jobs.length >= fetchLimit) polled.add(targets);
    this.rows.hand(jobs);
    await polled.watchRest(targets, { now, refused });
  }
}
