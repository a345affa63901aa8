import type { Payload } from '../job/codec.js';
import type { Placement } from '../gearmonkey/core/client/job-store.js';
import type { Changes } from '../gearmonkey/features/edits/edit-store.js';

/** A job and its function. */
export interface JobName {
  readonly fn: string;
  readonly id: string;
}

/** A step of a job: it was enqueued, its handler began, it will run again, or it has ended. */
export type JobStep = 'enqueued' | 'started' | 'retried' | 'done' | 'failed';

/** A job that this app's clients or tests created. */
export interface JobRecord {
  readonly fn: string;
  readonly id: string;
  readonly payload: Payload;
  readonly placement: Placement;
  /** In ms since 1970, by the test's clock. */
  readonly created: number;
  /** When it may run; absent if immediately. */
  readonly due?: number | undefined;
  /** Whether the test runs it with `perform`, so the app did not enqueue it. */
  readonly performed: boolean;
  /** The jobs that one of a flow, or with `after`, waits for. */
  readonly after?: readonly JobName[];
  /** Its steps so far, in order. */
  readonly steps: JobStep[];
}

/** All jobs of a test, oldest first. */
export class JobRecords {
  private readonly records = new Map<string, JobRecord>();
  /** The keys of jobs that wait for others, as far as is known. */
  private readonly blocked = new Set<string>();

  /** Enqueues and other changes that the server has not answered. */
  private underWay = 0;

  constructor(private readonly onChange: () => void) {}

  get isChanging(): boolean {
    return this.underWay > 0;
  }

  /** Runs what changes the jobs that may run. The test waits for it even if the app does not. */
  async whileChanging<T>(change: () => Promise<T>): Promise<T> {
    this.underWay += 1;
    this.onChange();
    try {
      return await change();
    } finally {
      this.underWay -= 1;
      this.onChange();
    }
  }

  add(record: Omit<JobRecord, 'steps'>): void {
    const key = keyOf(record.fn, record.id);
    this.records.set(key, { ...record, placement: withExpiry(record), steps: ['enqueued'] });
    if (record.after && record.after.length > 0) this.blocked.add(key);
    this.onChange();
  }

  /** The app has changed a job that waits. @param score seconds since 1970, if it is scheduled now */
  change(fn: string, id: string, { input, place, score }: Changes & { score: number | undefined }): void {
    const record = this.get(fn, id);
    if (!record) return;
    const changed = { ...record, payload: input ?? record.payload };
    const { queue: _queue, score: _score, delay: _delay, ...rest } = record.placement;
    const moved = place && { placement: { ...rest, ...place }, due: dueOf(score) };
    this.records.set(keyOf(fn, id), { ...changed, ...moved });
    this.onChange();
  }

  /** A later call has replaced input, options and time of a debounced job. */
  replace(fn: string, id: string, changes: Pick<JobRecord, 'payload' | 'placement' | 'due'>): void {
    const record = this.get(fn, id);
    const changed = record && { ...record, ...changes };
    if (changed) this.records.set(keyOf(fn, id), { ...changed, placement: withExpiry(changed) });
    this.onChange();
  }

  /** Ignores jobs of other processes. */
  note(fn: string, id: string, step: JobStep): void {
    this.records.get(keyOf(fn, id))?.steps.push(step);
  }

  all(): JobRecord[] {
    return [...this.records.values()];
  }

  /** The ids of a function's jobs that have not ended, as far as is noted. */
  unfinished(fn: string): string[] {
    return this.all().flatMap((record) => (record.fn === fn && !hasEnded(record) ? record.id : []));
  }

  /** Jobs of flows that neither run nor have ended, as far as is noted. */
  waitingInFlows(): JobRecord[] {
    return this.all().filter((record) => record.after !== undefined && isWaiting(record));
  }

  /** Those of them that wait for others of which one has ended: they may have ended with it. Other processes may have any parent. */
  blockedBehindEnds(): JobRecord[] {
    const records = [...this.blocked].flatMap((key) => this.records.get(key) ?? []);
    return records.filter((record) => isWaiting(record) && record.after?.some((job) => !this.isOpen(job)));
  }

  /** A job has not ended with those that it waited for. If all have ended, it waits for none any more. */
  noteBlocked({ fn, id, after = [] }: JobRecord): void {
    if (!after.some((job) => this.isOpen(job))) this.blocked.delete(keyOf(fn, id));
  }

  private isOpen({ fn, id }: JobName): boolean {
    const record = this.get(fn, id);
    return record !== undefined && !hasEnded(record);
  }

  get(fn: string, id: string): JobRecord | undefined {
    return this.records.get(keyOf(fn, id));
  }

  /** The jobs with this id. Each function counts its own ids. */
  withId(id: string): JobRecord[] {
    return this.all().filter((record) => record.id === id);
  }

  clear(): void {
    this.records.clear();
    this.blocked.clear();
  }
}

/** A placement with the time at which the job expires: it stays if the job's own time is changed. */
function withExpiry({ placement, created, due = created }: Omit<JobRecord, 'steps'>): Placement {
  const { expiresIn, ...rest } = placement;
  return expiresIn === undefined ? placement : { ...rest, expires: due + expiresIn };
}

function hasEnded({ steps }: JobRecord): boolean {
  return ['done', 'failed'].includes(steps.at(-1) ?? '');
}

export function isWaiting({ steps }: JobRecord): boolean {
  return ['enqueued', 'retried'].includes(steps.at(-1) ?? '');
}

/** Whether a job expired before it was begun, and no step says so. */
export function hasExpired(record: JobRecord | undefined, now: number): boolean {
  const isNew = record?.steps.at(-1) === 'enqueued';
  return isNew && (record?.placement.expires ?? Infinity) <= now;
}

/** The time of a score, in ms since 1970. */
export function dueOf(score: number | undefined): number | undefined {
  return score === undefined ? undefined : Math.round(score * 1000);
}

/** The key of a job. Function names contain no white space. */
export function keyOf(fn: string, id: string): string {
  return `${fn} ${id}`;
}
