import type { Slot } from '../gearmonkey/features/schedules/timing.js';

/** A schedule as Redis has it. */
export interface MemorySchedule {
  spec: string;
  version: string;
  slot: Slot | undefined;
  previous: string;
  made: number;
  job: string;
}

/** The schedules of a function, by id. */
export class FunctionSchedules extends Map<string, MemorySchedule> {
  /** Called when one was written. */
  readonly tickers = new Set<() => void>();
}
