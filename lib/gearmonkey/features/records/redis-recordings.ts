import type { Payload } from '../../../job/codec.js';
import type { Signalled } from '../../../job/signals.js';
import type { StreamKind, StreamPage } from '../../../job/streams.js';
import { streamKey, type JobKey } from '../../core/wire/protocol.js';
import * as scripts from './record-scripts.js';
import type { StoreServer } from '../../core/client/store-server.js';
import type { RecordStore } from './record-store.js';

/** Most entries of a stream that one call reads. */
const PAGE = 500;

/** What clients tell single jobs, and ask of what these record. */
export class RedisRecordings implements RecordStore {
  constructor(private readonly server: StoreServer) {}

  signal(fn: string, { id, mark }: JobKey, name: string, data: Payload): Promise<Signalled> {
    const { jobs, scheduled, wake } = this.server.keysOf(fn);
    return this.server.questions.ask(fn, 'Signalling a job', (redis) =>
      scripts.signal.run(redis, [jobs, scheduled, wake], this.server.now(), id, mark ?? '', name, data),
    );
  }

  readStream(
    fn: string,
    id: string,
    kind: StreamKind,
    from: number,
    wanted?: () => boolean,
  ): Promise<StreamPage> {
    const job = this.server.keysOf(fn).jobs + id;
    const keys = [job, streamKey(job, kind)];
    return this.server.questions.ask(
      fn,
      'Reading a stream',
      (redis) => scripts.readStream.run(redis, keys, kind, from, PAGE),
      { wanted },
    );
  }
}
