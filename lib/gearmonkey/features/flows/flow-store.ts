import type { Payload } from '../../../job/codec.js';
import type { FlowEntry, FlowProgress, LaterPlace, OnParentError } from '../../../job/flows.js';
import type { JobState } from '../../../job/job-state.js';
import type { JobKey } from '../../core/wire/protocol.js';
import type { EnqueuedKey } from '../../core/client/enqueued-key.js';
import type { JobStore } from '../../core/client/job-store.js';

/** A job that waits for others, until it may run. */
export interface LaterJob {
  readonly fn: string;
  readonly input: Payload;
  readonly place: LaterPlace;
  /** Its own options, as JSON, or ''. */
  readonly options: string;
  readonly onParentError: OnParentError;
}

/** A job of a new flow. */
export interface NewFlowJob extends LaterJob {
  /** Those that it waits for, by their numbers in the flow. */
  readonly parents: readonly number[];
  /** Those that wait for it. */
  readonly children: readonly number[];
}

/** A job of a function. */
export interface JobOf extends JobKey {
  readonly fn: string;
}

/** A flow that has begun. */
export interface NewFlow {
  readonly name: string;
  readonly keys: readonly EnqueuedKey[];
}

/** Most parents of a job that are shown. */
export const MAX_SHOWN_PARENTS = 1000;

/** A job of a flow, for people. */
export interface FlowMember extends FlowEntry {
  /** `gone` if it is no longer kept, or can't be read. */
  readonly state: JobState | 'gone';
  /** Those that it waited for. */
  readonly parents: readonly FlowEntry[];
}

/** Functions of jobs that wait for a job. */
export interface WaitingFunctions {
  readonly functions: readonly string[];
  /** False if more jobs wait than were looked at. */
  readonly isWhole: boolean;
}

/** The server's part of flows. A flow belongs to the function of its root. */
export interface FlowStore {
  /**
   * Creates a flow, at once or not at all. The root comes first.
   *
   * @throws UnknownParentError if a job of `after` doesn't exist · RefusedError · ConnectionError
   */
  create(jobs: readonly NewFlowJob[], after: readonly JobOf[]): Promise<NewFlow>;
  /** Creates a job that waits for others; it belongs to the flow of the first of them that has one. @throws as `create` */
  add(job: LaterJob, after: readonly JobOf[]): Promise<EnqueuedKey>;
  /** Undefined if the flow is no longer kept. `wanted` as of `JobStore.read`. */
  progress(fn: string, name: string, wanted?: () => boolean): Promise<FlowProgress | undefined>;
  /** Ends all jobs of the flow that don't run. Returns how many. */
  cancel(fn: string, name: string): Promise<number>;
  /** The functions of jobs that wait for this one, or for one of these, and so on. */
  waiting(fn: string, id: string): Promise<WaitingFunctions>;
  /** Some jobs of the flow, from its job `from` on. */
  members(fn: string, name: string, from: number, most: number): Promise<readonly FlowMember[]>;
}

/** A store with jobs that wait for others. */
export interface FlowsStore extends JobStore {
  readonly flows: FlowStore;
}
