import type { JobStore } from '../../core/client/job-store.js';
import type { LimitRules, LimitState } from '../../../job/limit.js';

/** Which keys of a limit to read. */
export interface LimitsQuery {
  /** Only this key. */
  readonly key?: string;
  /** Most keys that are returned. */
  readonly size: number;
}

/** Whose jobs a limit counts. */
export interface Sharing {
  /** In order of their names, the asked one included. */
  readonly functions: readonly string[];
  /** Of a shared limit: those of which this program may not read it, so that they may share it too. */
  readonly unread: readonly string[];
}

/** Reads and changes limits. */
export interface LimitStore {
  /** Reads keys of the function's limit that have jobs or are full, full ones first. */
  read(fn: string, query: LimitsQuery): Promise<LimitState[]>;

  /** Changes the numbers of the function's limit, or of the shared one it uses, for all processes; undefined ends the change. */
  set(fn: string, numbers: Pick<LimitRules, 'concurrency' | 'rate'> | undefined): Promise<void>;

  /**
   * The functions whose jobs the limit of this one counts, itself included: more than one for a shared limit. Those of `known`
   * are looked at beside the functions that the server knows.
   */
  sharing(fn: string, known: readonly string[]): Promise<Sharing>;
}

/** A store with limits. */
export interface LimitsStore extends JobStore {
  readonly limits: LimitStore;
}
