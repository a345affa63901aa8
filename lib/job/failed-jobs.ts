import type { Observable } from 'rxjs';

/** Failed jobs whose errors' innermost causes are alike: they differ at most in numbers, ids and quoted text. */
export interface FailureGroup {
  /** Names the group for `retry` and `discard`. */
  readonly group: string;
  /** Name, code and message are those of the innermost cause. */
  readonly name: string;
  readonly code?: string;
  /** The message with `<n>`, `<id>` and `<text>` for what differs; at most 200 characters. */
  readonly message: string;
  readonly count: number;
  /** When the last of them failed. */
  readonly last: Date;
  /** The id of that job. */
  readonly sample: string;
  /** Its message as it is; at most 200 characters. */
  readonly example: string;
}

/** Which ended jobs `retry` and `discard` are about. */
export interface EndedJobs {
  state: 'failed' | 'cancelled';
  /** Only those of this group. @default all */
  group?: string;
  /** Only those with this tag. @default all */
  tag?: string;
  /** Only those that ended before this time. @default all that have ended when the call begins */
  before?: Date;
}

/** Work on many jobs, in steps of at most 100. It begins at once. */
export interface BulkRun {
  /** How many jobs are done, now and after each step. It completes or fails with `done`. */
  readonly progress$: Observable<number>;
  /** How many jobs were moved or deleted. */
  readonly done: Promise<number>;
  /** Ends it after the step that runs; `done` then resolves with the number so far. */
  cancel(): void;
}
