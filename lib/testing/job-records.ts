import type { Payload } from '../job/codec.js';
import type { Placement } from '../gearmonkey/client/job-store.js';

/** What has happened to a job: it was enqueued, a handler began it, an attempt failed and another follows, it has ended. */
export type JobStep = 'enqueued' | 'started' | 'retried' | 'done' | 'failed';

/** A job that this app's clients or tests created. */
export interface JobRecord {
  readonly fn: string;
  readonly id: string;
  readonly payload: Payload;
  readonly placement: Placement;
  /** In ms since 1970, by the test's clock. */
  readonly created: number;
  /** From when it may run; absent where that is at once. */
  readonly due?: number | undefined;
  /** Whether a test runs it by `perform`: nothing of the app enqueued it. */
  readonly performed: boolean;
  /** Each that it has come to, in their order. */
  readonly steps: JobStep[];
}

/** Every job of a test, in the order of their creation. */
export class JobRecords {
  private readonly records = new Map<string, JobRecord>();

  /** Enqueues that the server has not answered. */
  private underWay = 0;

  constructor(private readonly onChange: () => void) {}

  get isEnqueuing(): boolean {
    return this.underWay > 0;
  }

  /** What is enqueued here without waiting for it keeps a test waiting. */
  async whileEnqueuing<T>(enqueue: () => Promise<T>): Promise<T> {
    this.underWay += 1;
    this.onChange();
    try {
      return await enqueue();
    } finally {
      this.underWay -= 1;
      this.onChange();
    }
  }

  add(record: Omit<JobRecord, 'steps'>): void {
    this.records.set(keyOf(record.fn, record.id), { ...record, steps: ['enqueued'] });
    this.onChange();
  }

  /** Jobs of other processes are not known. */
  note(fn: string, id: string, step: JobStep): void {
    this.records.get(keyOf(fn, id))?.steps.push(step);
  }

  all(): JobRecord[] {
    return [...this.records.values()];
  }

  get(fn: string, id: string): JobRecord | undefined {
    return this.records.get(keyOf(fn, id));
  }

  /** Those with this id: each function counts its own. */
  withId(id: string): JobRecord[] {
    return this.all().filter((record) => record.id === id);
  }

  clear(): void {
    this.records.clear();
  }
}

/** Whether a job expired before it was begun, and no step says so. */
export function hasExpired(record: JobRecord | undefined, now: number): boolean {
  const isNew = record?.steps.at(-1) === 'enqueued';
  return isNew && (record?.placement.expires ?? Infinity) <= now;
}

/** Names have no white space. */
export function keyOf(fn: string, id: string): string {
  return `${fn} ${id}`;
}
