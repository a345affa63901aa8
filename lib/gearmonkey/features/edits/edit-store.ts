import type { Payload } from '../../../job/codec.js';
import type { JobStore } from '../../core/client/job-store.js';
import type { Place } from '../../core/client/placement.js';
import type { JobKey, Queue } from '../../core/wire/protocol.js';
import type { Cancellation, Updated } from './edit-scripts.js';

/** What changes of a job that waits. */
export interface Changes {
  readonly input?: Payload | undefined;
  /** The queue that it moves to. */
  readonly place?: Place | undefined;
  /** The key of the new input, if the function has a limit. */
  readonly key?: string | undefined;
}

/** Which jobs of a queue are removed; a list has only one kind. */
export type DrainedKind = 'scheduled' | 'retrying' | 'both' | '';

/** A part of a drain. */
export interface DrainStep {
  readonly queue: Queue;
  readonly kind: DrainedKind;
  /** Whether those with a key of a limit are meant, which wait elsewhere, or the others. */
  readonly limited: boolean;
  /** The largest id that is removed. */
  readonly last: number;
  /** '0' at first, then that of the last reply. */
  readonly cursor: string;
}

/** What a step has done. */
export interface DrainedStep {
  readonly ids: readonly string[];
  /** For the next step; '0' if the queue is done. */
  readonly cursor: string;
  /** Whether others wait for some of them, or they belong to a flow. */
  readonly awaited?: true;
}

/** Changes jobs that there are. */
export interface EditStore {
  /** Cancels a job that waits or, unless it spares those, that a worker of this package runs. */
  cancel(fn: string, job: JobKey, sparesRunning?: boolean): Promise<Cancellation>;

  /** Changes a job that waits and has not begun. */
  update(fn: string, job: JobKey, changes: Changes): Promise<Updated>;

  /** The id of the last job that was created, or 0. */
  lastId(fn: string): Promise<number>;

  /** Ends some of the jobs that wait in a queue. */
  drain(fn: string, step: DrainStep): Promise<DrainedStep>;

  /** Pauses the function, so that workers claim none of its jobs, or resumes it. */
  pause(fn: string, paused: boolean): Promise<void>;

  /** With `wanted` it repeats the question while that returns true, also during an outage and without a timeout. */
  isPaused(fn: string, wanted?: () => boolean): Promise<boolean>;

  /** Calls `changed` when the function may have been paused or resumed. Resolves and unsubscribes as `listen`. */
  listenToControl(fn: string, changed: () => void): Promise<() => void>;
}

/** A store whose jobs can be changed. */
export interface EditsStore extends JobStore {
  readonly edits: EditStore;
}
