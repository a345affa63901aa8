// The views of schedules and workers: a part of api.ts. Import it from there.

import type { JobState } from '../job/job-state.js';
import type { ListedJobView, Time } from './api-jobs.js';

/** GET api/schedules?i[&fn] */
export interface ScheduleView {
  readonly id: string;
  readonly fn: string;
  /** In words, such as `weekdays at 9:00, Europe/Berlin`. At most 200 characters. */
  readonly words: string;
  readonly cron?: string;
  readonly timezone?: string;
  /** Milliseconds. */
  readonly every?: number;
  readonly from?: Time;
  readonly until?: Time;
  readonly limit?: number;
  readonly catchUp: string;
  readonly jitter: number;
  readonly ifRunning: string;
  readonly paused: boolean;
  /** The next slots, at most five. */
  readonly next: readonly Time[];
  readonly previous?: Time;
  /** How many jobs it has created. */
  readonly created: number;
  /** Its last job, if that is still kept. */
  readonly last: readonly {
    readonly id: string;
    readonly state: JobState;
    readonly slot?: Time;
    readonly finished?: Time;
  }[];
  /** The app whose code declares it. */
  readonly app?: string;
  /** Why this program can't create its jobs. */
  readonly problem?: string;
  readonly act: boolean;
}

/** GET api/workers?i[&fn] */
export interface WorkersView {
  /** Workers of this package, with the functions they serve. At most 1,000. */
  readonly workers: readonly {
    readonly id: string;
    readonly functions: readonly string[];
    /** When it counts as dead unless it gives a sign of life before. */
    readonly until: Time;
    readonly lost: boolean;
  }[];
  /** All that are counted, plain workers included. */
  readonly functions: readonly { readonly fn: string; readonly workers: number; readonly running: number }[];
  /** What runs, at most 100 of a function. */
  readonly running: readonly ListedJobView[];
}
