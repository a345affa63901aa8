import { map, type Observable } from 'rxjs';
import { read } from '../../../job/codec.js';
import { InvalidOptionError, JobLostError, JobNotFoundError } from '../../../job/errors.js';
import type { FunctionRef } from '../../../job/job-definition.js';
import { isSignalName } from '../../../job/signals.js';
import { MAX_STEP_NAME } from '../../../job/steps.js';
import { readEntry, type StreamEntry, type StreamKind } from '../../../job/streams.js';
import { isJobId } from '../../core/client/job-access.js';
import type { ClientCore } from '../../core/feature.js';
import type { JobKey } from '../../core/wire/protocol.js';
import { observeStream } from './observe-stream.js';
import type { RecordsStore } from './record-store.js';

/** Signals single jobs, and reads what they stream. A key with a mark never concerns another job that got the same id. */
export class JobRecordings {
  constructor(private readonly core: ClientCore<RecordsStore>) {}

  async signal(ref: FunctionRef, key: JobKey, name: string, data: unknown): Promise<boolean> {
    const { functions, store } = this.core;
    const fn = functions.nameOf(ref);
    if (!isSignalName(name))
      throw new InvalidOptionError('name', name, `text of 1 to ${MAX_STEP_NAME} characters without a colon`);
    const encoded = functions.encodeAs('signal', ref, data);
    const came = isJobId(key.id) ? await store.records.signal(fn, key, name, encoded) : 'missing';
    if (came === 'missing') throw new JobNotFoundError(fn, key.id);
    if (came === 'lost') throw new JobLostError(fn, key.id);
    return came === 'signalled';
  }

  /** The values of `entries`. */
  stream(ref: FunctionRef, key: JobKey, kind: StreamKind, after = 0): Observable<unknown> {
    return this.entries(ref, key, kind, after).pipe(map(({ value }) => value));
  }

  /** What a job streams, each entry by the codec: chunks as the function's values, lines as text. */
  entries(ref: FunctionRef, key: JobKey, kind: StreamKind, after: number): Observable<StreamEntry> {
    const { functions, feeds, jobs, store } = this.core;
    const fn = functions.nameOf(ref);
    const codec = functions.codecOf(ref);
    return observeStream(
      () => feeds.forObserver(fn),
      () => jobs.track(ref, key),
      {
        kind,
        after,
        read: (from, wanted) => store.records.readStream(fn, key.id, kind, from, wanted),
        decode: (bytes, number) => {
          const entry = readEntry(bytes);
          if (!entry) return undefined;
          const { value } = entry;
          return {
            number,
            time: new Date(entry.time),
            value: kind === 'log' ? Buffer.from(value).toString() : read(codec, fn, 'chunk', value),
          };
        },
      },
    );
  }
}
