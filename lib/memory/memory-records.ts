import { systemClock, type Clock } from '../job/clock.js';
import type { Payload } from '../job/codec.js';
import type { Claim } from '../job/job-source.js';
import type { RecordedParent } from '../job/flows.js';
import type { RecordingJob, StepRecords } from '../job/steps.js';
import type { StreamKind } from '../job/streams.js';
import { PARENT_FIELDS, parentFrom } from '../gearmonkey/features/records/recorded-parent.js';
import type { MemoryServer } from './memory-server.js';

/** What jobs of the embedded server record while they run. */
export class MemoryRecords implements StepRecords {
  constructor(
    private readonly server: MemoryServer,
    private readonly clock: Pick<Clock, 'now'> = systemClock,
  ) {}

  async read({ fn, id }: Claim, fields: readonly string[]): Promise<Map<string, Uint8Array>> {
    const { jobs } = this.server.function(fn);
    const values = fields.map((field) => [field, jobs.bytes(id, field)] as const);
    return new Map(values.flatMap(([field, value]) => (value ? [[field, value]] : [])));
  }

  async now(): Promise<number> {
    return this.clock.now();
  }

  async parents(job: RecordingJob): Promise<RecordedParent[]> {
    return this.server.flows.parentsOf(job).map(({ fn, id }) => {
      const { jobs } = this.server.function(fn);
      const fields = PARENT_FIELDS.map((field) => jobs.bytes(id, field));
      return parentFrom({ fn, id, mark: '' }, fields);
    });
  }

  async write(
    { fn, id, token }: Claim,
    fields: ReadonlyMap<string, Payload>,
    removed: readonly string[],
  ): Promise<boolean> {
    const { jobs, leases } = this.server.function(fn);
    if (!leases.holds(id, token)) return false;
    jobs.clear(id, removed);
    jobs.set(id, Object.fromEntries(fields));
    return true;
  }

  async append(
    { fn, id, token }: Claim,
    kind: StreamKind,
    _sent: number,
    entries: readonly Uint8Array[],
  ): Promise<boolean> {
    const { jobs, leases, listeners } = this.server.function(fn);
    if (!leases.holds(id, token)) return false;
    const stream = jobs.stream(id, kind);
    stream.append(entries);
    jobs.set(id, { [`${kind}:count`]: stream.total });
    for (const listener of [...listeners]) listener.streamed?.({ id }, kind);
    return true;
  }
}
