/** The tick of a schedule that a job belongs to. */
export interface RecurringTick {
  /** The schedule's id. */
  readonly id: string;
  /** The time for which the schedule created the job; it may run later. */
  readonly slot: Date;
  /** The slot of the job before. Absent for the schedule's first job. */
  readonly previous?: Date;
}

/** The same as it is stored, with times in milliseconds since 1970. */
export interface StoredTick {
  readonly id: string;
  readonly slot: number;
  readonly previous?: number;
}

/** Reads a tick from a job's options. Anything that this package does not write is ignored. */
export function readTick(received: unknown): RecurringTick | undefined {
  if (typeof received !== 'object' || received === null) return undefined;
  const { id, slot, previous } = received as Partial<StoredTick>;
  if (typeof id !== 'string' || !isTime(slot)) return undefined;
  return isTime(previous)
    ? { id, slot: new Date(slot), previous: new Date(previous) }
    : { id, slot: new Date(slot) };
}

const LAST_TIME = 8.64e15;

function isTime(value: unknown): value is number {
  return Number.isSafeInteger(value) && Math.abs(value as number) <= LAST_TIME;
}
