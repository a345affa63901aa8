import { setImmediate } from 'node:timers/promises';
import { messageOf } from '../../job/errors.js';
import type { JobdLog } from '../vocabulary/log.js';
import type { AcceptedJob } from '../storage/accepted-job.js';
import type { JobTable } from '../storage/job-table.js';
import { isRefusedRow } from '../storage/errors.js';
import { nowInSeconds } from '../storage/row-writer.js';
import { acceptSingly } from '../rows/accept-singly.js';
import { Alarms } from '../rows/alarms.js';
import type { Custody } from '../rows/accepted-rows.js';
import type { Targets } from '../rows/targets.js';

export interface PollerOptions {
  /** 0 for no limit. */
  readonly fetchLimit: number;
  readonly log: JobdLog;
  /** Ends the polling. */
  readonly signal: AbortSignal;
  readonly onAccepted: (jobs: readonly AcceptedJob[]) => void;
}

/** Fetches waiting rows for targets that were polled for, as soon as they have room; through outages. */
export class Poller {
  private readonly pending = new Set<string>();
  private readonly alarms = new Alarms((targets) =>
    this.poll(targets.filter((target) => this.targets.has(target))),
  );
  private isFetching = false;

  constructor(
    private readonly table: JobTable,
    private readonly targets: Targets,
    private readonly custody: Custody,
    private readonly options: PollerOptions,
  ) {
    options.signal.addEventListener('abort', () => this.alarms.clear());
  }

  poll(targets: readonly string[]): void {
    for (const target of targets) this.pending.add(target);
    this.wake();
  }

  /** Polls at a time, in seconds since 1970. */
  pollAt(time: number, targets: readonly string[]): void {
    if (!this.options.signal.aborted) this.alarms.set(time, targets);
  }

  /** To be called when a target may have got room. */
  wake(): void {
    if (this.isFetching || this.ready().length === 0) return;
    this.isFetching = true;
    void this.fetchAll();
  }

  private ready(): string[] {
    if (this.options.signal.aborted) return [];
    return [...this.pending].filter((target) => this.targets.hasRoom(target));
  }

  private async fetchAll(): Promise<void> {
    for (let targets = this.ready(); targets.length > 0; targets = this.ready()) {
      // However often there is something to fetch, others get their turn.
      await setImmediate();
      // A poll that comes from here on is another one.
      for (const target of targets) this.pending.delete(target);
      try {
        await this.fetch(targets);
      } catch (error) {
        if (!this.options.signal.aborted) this.options.log.error(`A poll failed: ${messageOf(error)}`);
      }
    }
    // With the look that found nothing, so that no wake-up gets lost between them.
    this.isFetching = false;
  }

  private async fetch(targets: readonly string[]): Promise<void> {
    const { fetchLimit, signal, onAccepted } = this.options;
    // One time for both questions: what falls due between them would be missed by both.
    const now = nowInSeconds();
    const fetch = (limit: number, only?: number) =>
      this.custody.accept(() => this.table.acceptance.waiting(targets, limit, now, only), signal);
    const jobs = await fetch(fetchLimit)
      .then(({ accepted }) => accepted)
      .catch(async (error: unknown) => {
        if (!isRefusedRow(error)) throw error;
        const ask = () => this.table.acceptance.dueIds(targets, fetchLimit, now);
        const ids = await this.table.database.insist(ask, { signal });
        const fetched = await acceptSingly(ids, (id) => fetch(1, id), this.options.log);
        return fetched.flatMap(({ accepted }) => accepted);
      });
    if (fetchLimit > 0 && jobs.length >= fetchLimit) for (const target of targets) this.pending.add(target);
    onAccepted(jobs);
    const fetched = targets.filter((target) => !this.pending.has(target));
    if (fetched.length > 0) await this.watchDue(fetched, now);
  }

  private async watchDue(targets: readonly string[], now: number): Promise<void> {
    const { database } = this.table;
    const ask = () => this.table.nextDue(targets, now);
    const due = await database.insist(ask, { signal: this.options.signal });
    if (due !== undefined) this.pollAt(due, targets);
  }
}
