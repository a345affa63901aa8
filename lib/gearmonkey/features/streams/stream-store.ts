import type { StreamKind, StreamPage } from '../../../job/streams.js';
import type { JobStore } from '../../core/client/job-store.js';

/** Reads what jobs stream. */
export interface StreamStore {
  /** From a job's entry `from` on. `wanted` as of `JobStore.read`. */
  read(fn: string, id: string, kind: StreamKind, from: number, wanted?: () => boolean): Promise<StreamPage>;
}

/** A store whose jobs stream. */
export interface StreamsStore extends JobStore {
  readonly streams: StreamStore;
}
