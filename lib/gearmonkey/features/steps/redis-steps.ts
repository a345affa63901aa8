import type { Cluster, Redis } from 'ioredis';
import type { Payload } from '../../../job/codec.js';
import type { RecordingJob, StepRecords } from '../../../job/steps.js';
import { recordFields, type InsistsOnWrite } from '../../core/source/record-fields.js';
import { time, type Now } from '../../core/wire/scripts.js';
import type { KeysOf } from '../../core/wire/protocol.js';

interface Commands extends InsistsOnWrite {
  insist<T>(call: (redis: Redis | Cluster) => Promise<T>): Promise<T>;
}

/** The steps of jobs, in their hashes. */
export class RedisSteps implements StepRecords {
  constructor(
    private readonly commands: Commands,
    private readonly keysOf: KeysOf,
    /** '' is the server's time. */
    private readonly timeOf: () => Now = () => '',
    /** Called when a write is refused, and will be repeated. */
    private readonly onRefused: (fn: string, error: unknown) => void = () => undefined,
  ) {}

  now({ fn, id }: RecordingJob): Promise<number> {
    return this.commands.insist((redis) => time.run(redis, [this.keysOf(fn).jobs + id], this.timeOf()));
  }

  async read({ fn, id }: RecordingJob, fields: readonly string[]): Promise<Map<string, Uint8Array>> {
    const values = await this.commands.insist((redis) =>
      redis.hmgetBuffer(this.keysOf(fn).jobs + id, ...fields),
    );
    return new Map(values.flatMap((value, index) => (value ? [[fields[index] ?? '', value]] : [])));
  }

  write(
    claim: RecordingJob,
    fields: ReadonlyMap<string, Payload>,
    removed: readonly string[],
  ): Promise<boolean> {
    return recordFields(this.commands, this.keysOf, { claim, fields, removed }, (error) =>
      this.onRefused(claim.fn, error),
    );
  }
}
