import type { Payload } from '../../../job/codec.js';
import type { Signalled } from '../../../job/signals.js';
import type { StreamKind, StreamPage } from '../../../job/streams.js';
import { streamKey, type JobKey, type KeysOf } from '../../core/wire/protocol.js';
import * as scripts from './record-scripts.js';
import { expire, type Now } from '../../core/wire/scripts.js';
import type { RedisQuestions } from '../../core/client/redis-questions.js';

/** What `expire` returns if the job has ended now, and others wait for it or it belongs to a flow. */
export const EXPIRED_IN_FLOW = -2;
/** Most entries of a stream that one call reads. */
const PAGE = 500;

/** What clients tell single jobs, and ask of what these record. */
export class RedisRecordings {
  constructor(
    private readonly questions: RedisQuestions,
    private readonly keysOf: KeysOf,
    private readonly now: () => Now,
  ) {}

  signal(fn: string, { id, mark }: JobKey, name: string, data: Payload): Promise<Signalled> {
    const { jobs, scheduled, wake } = this.keysOf(fn);
    return this.questions.ask(fn, 'Signalling a job', (redis) =>
      scripts.signal.run(redis, [jobs, scheduled, wake], this.now(), id, mark ?? '', name, data),
    );
  }

  readStream(
    fn: string,
    id: string,
    kind: StreamKind,
    from: number,
    wanted?: () => boolean,
  ): Promise<StreamPage> {
    const job = this.keysOf(fn).jobs + id;
    const keys = [job, streamKey(job, kind)];
    return this.questions.ask(
      fn,
      'Reading a stream',
      (redis) => scripts.readStream.run(redis, keys, kind, from, PAGE),
      { wanted },
    );
  }

  /** Returns the milliseconds until the job expires, 0 if it has finished, -1 if it won't expire, or EXPIRED_IN_FLOW. */
  expire(fn: string, { id, mark }: JobKey, now?: number): Promise<number> {
    const { jobs, locks, channel } = this.keysOf(fn);
    return this.questions.ask(fn, 'Expiring a job', (redis) =>
      expire.run(redis, [jobs, locks, channel], now ?? '', id, mark ?? ''),
    );
  }
}
