import type { Cluster, Redis } from 'ioredis';
import type { Payload } from '../../../job/codec.js';
import type { Claim } from '../../../job/job-source.js';
import { memberOf } from '../../../redis/lease-keeper.js';
import type { KeysOf } from '../wire/protocol.js';
import { record } from '../wire/scripts.js';

/** Who asks for a running job until Redis answers. */
export interface InsistsForJob {
  insistForJob<T>(
    call: (redis: Redis | Cluster) => Promise<T>,
    onRefused: (error: unknown) => void,
  ): Promise<T>;
}

/** What is written of a job that runs. */
export interface FieldChanges {
  readonly claim: Pick<Claim, 'fn' | 'id' | 'token'>;
  readonly fields: ReadonlyMap<string, Payload>;
  readonly removed: readonly string[];
}

/**
 * Changes a job's own fields while its claim is held; returns whether it was. During an outage, or while writes are refused, it
 * waits. Written twice it is the same.
 */
export function recordFields(
  commands: InsistsForJob,
  keysOf: KeysOf,
  { claim, fields, removed }: FieldChanges,
  onRefused: (error: unknown) => void,
): Promise<boolean> {
  const { jobs, leases } = keysOf(claim.fn);
  const keys = [jobs + claim.id, leases];
  const changes = [...removed, ...[...fields].flat()];
  return commands.insistForJob(
    (redis) => record.run(redis, keys, memberOf(claim), removed.length, changes),
    onRefused,
  );
}
