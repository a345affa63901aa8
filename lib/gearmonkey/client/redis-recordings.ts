import type { Payload } from '../../job/codec.js';
import type { Signalled } from '../../job/signals.js';
import type { StreamKind, StreamPage } from '../../job/streams.js';
import { streamKey, type JobKey, type KeysOf } from '../wire/protocol.js';
import * as scripts from '../wire/record-scripts.js';
import type { Now } from '../wire/scripts.js';
import type { RedisQuestions } from './redis-questions.js';

/** Most entries of a stream that one call reads. */
const PAGE = 500;

/** What clients ask of what jobs record while they run. */
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
}
