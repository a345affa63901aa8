import { map, type Observable } from 'rxjs';
import { read } from '../../../job/codec.js';
import type { FunctionRef } from '../../../job/job-definition.js';
import { readEntry, type StreamEntry, type StreamKind } from '../../../job/streams.js';
import type { ClientCore } from '../../core/feature.js';
import type { JobKey } from '../../core/wire/protocol.js';
import { observeStream } from './observe-stream.js';
import type { StreamsStore } from './stream-store.js';

/** What single jobs stream. A key with a mark never concerns another job that got the same id. */
export class JobStreams {
  constructor(private readonly core: ClientCore<StreamsStore>) {}

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
        read: (from, wanted) => store.streams.read(fn, key.id, kind, from, wanted),
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
