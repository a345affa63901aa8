import type { Cluster, Redis } from 'ioredis';
import type { Payload } from '../../job/codec.js';
import type { Claim } from '../../job/job-source.js';
import type { StepRecords } from '../../job/steps.js';
import { MAX_ENTRIES, MAX_STREAM_BYTES, STREAM_SECONDS, type StreamKind } from '../../job/streams.js';
import { memberOf } from '../../redis/lease-thread.js';
import { streamKey, type KeysOf } from '../wire/protocol.js';
import * as scripts from '../wire/record-scripts.js';

interface Asked {
  insist<T>(call: (redis: Redis | Cluster) => Promise<T>): Promise<T>;
}

/** What jobs record while they run, in their hashes. */
export class RedisRecords implements StepRecords {
  constructor(
    private readonly commands: Asked,
    private readonly keysOf: KeysOf,
  ) {}

  async read({ fn, id }: Claim, fields: readonly string[]): Promise<Map<string, Uint8Array>> {
    const values = await this.commands.insist((redis) =>
      redis.hmgetBuffer(this.keysOf(fn).jobs + id, ...fields),
    );
    return new Map(values.flatMap((value, index) => (value ? [[fields[index] ?? '', value]] : [])));
  }

  /** During an outage it waits. Written twice it is the same. */
  write(claim: Claim, fields: ReadonlyMap<string, Payload>, removed: readonly string[]): Promise<boolean> {
    const { jobs, leases } = this.keysOf(claim.fn);
    return this.commands.insist((redis) =>
      scripts.record.run(redis, [jobs + claim.id, leases], memberOf(claim), removed.length, [
        ...removed,
        ...[...fields].flat(),
      ]),
    );
  }

  /** During an outage it waits. */
  append(claim: Claim, kind: StreamKind, sent: number, entries: readonly Uint8Array[]): Promise<boolean> {
    const { jobs, leases, progress } = this.keysOf(claim.fn);
    const job = jobs + claim.id;
    const limits = [MAX_ENTRIES, MAX_STREAM_BYTES, STREAM_SECONDS] as const;
    return this.commands.insist((redis) =>
      scripts.append.run(
        redis,
        [job, leases, streamKey(job, kind), progress],
        memberOf(claim),
        kind,
        sent,
        ...limits,
        entries,
      ),
    );
  }
}
