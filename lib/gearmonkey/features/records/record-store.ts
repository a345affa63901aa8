import type { Payload } from '../../../job/codec.js';
import type { Signalled } from '../../../job/signals.js';
import type { StreamKind, StreamPage } from '../../../job/streams.js';
import type { JobStore } from '../../core/client/job-store.js';
import type { JobKey } from '../../core/wire/protocol.js';

/** Reads what jobs record, and tells them something. */
export interface RecordStore {
  /** Reads what a job has streamed, from its entry `from` on. `wanted` as of `JobStore.read`. */
  readStream(
    fn: string,
    id: string,
    kind: StreamKind,
    from: number,
    wanted?: () => boolean,
  ): Promise<StreamPage>;

  /** Gives a job a signal, whether it waits for that or not. */
  signal(fn: string, job: JobKey, name: string, data: Payload): Promise<Signalled>;
}

/** A store whose jobs record. */
export interface RecordsStore extends JobStore {
  readonly records: RecordStore;
}
