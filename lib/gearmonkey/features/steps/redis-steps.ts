import type { Payload } from '../../../job/codec.js';
import type { RecordingJob, StepRecords } from '../../../job/steps.js';
import { recordFields, type InsistsForJob } from '../../core/source/record-fields.js';
import { time, type Now } from '../../core/wire/scripts.js';
import type { KeysOf } from '../../core/wire/protocol.js';

/** The steps of jobs, in their hashes. While the server can't be reached, or refuses to read or write them, each call waits. */
export class RedisSteps implements StepRecords {
  constructor(
    private readonly commands: InsistsForJob,
    private readonly keysOf: KeysOf,
    /** '' is the server's time. */
    private readonly timeOf: () => Now = () => '',
    /** Called when a call is refused, and will be repeated. */
    private readonly onRefused: (fn: string, error: unknown) => void = () => undefined,
  ) {}

  now({ fn, id }: RecordingJob): Promise<number> {
    return this.commands.insistForJob(
      (redis) => time.run(redis, [this.keysOf(fn).jobs + id], this.timeOf()),
      (error) => this.onRefused(fn, error),
    );
  }

  async read({ fn, id }: RecordingJob, fields: readonly string[]): Promise<Map<string, Uint8Array>> {
    const values = await this.commands.insistForJob(
      (redis) => redis.hmgetBuffer(this.keysOf(fn).jobs + id, ...fields),
      (error) => this.onRefused(fn, error),
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
