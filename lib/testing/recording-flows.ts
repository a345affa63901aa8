import type {
  FlowStore,
  JobOf,
  LaterJob,
  NewFlow,
  NewFlowJob,
} from '../gearmonkey/features/flows/flow-store.js';
import type { EnqueuedKey } from '../gearmonkey/core/client/job-store.js';
import type { Clock } from '../job/clock.js';
import { defined } from '../job/defined.js';
import type { FlowEnds } from './flow-ends.js';
import { dueOf, type JobName, type JobRecords } from './job-records.js';

/** Records the jobs of flows that a test's clients create. */
export class RecordingFlows implements FlowStore {
  constructor(
    private readonly flows: FlowStore,
    private readonly clock: Pick<Clock, 'now'>,
    private readonly records: JobRecords,
    private readonly ends: FlowEnds,
  ) {}

  create(jobs: readonly NewFlowJob[], after: readonly JobOf[]): Promise<NewFlow> {
    return this.records.whileChanging(async () => {
      const flow = await this.flows.create(jobs, after);
      const named = jobs.map(({ fn }, number) => ({ fn, id: flow.keys[number]?.id ?? '' }));
      for (const [number, job] of jobs.entries()) {
        const parents = job.parents.flatMap((parent) => named[parent] ?? []);
        this.record(job, named[number]?.id ?? '', number === 0 ? after : parents);
      }
      await this.ends.note();
      return flow;
    });
  }

  add(job: LaterJob, after: readonly JobOf[]): Promise<EnqueuedKey> {
    return this.records.whileChanging(async () => {
      const key = await this.flows.add(job, after);
      this.record(job, key.id, after);
      await this.ends.note();
      return key;
    });
  }

  progress: FlowStore['progress'] = (...read) => this.flows.progress(...read);

  cancel(fn: string, name: string): Promise<number> {
    return this.records.whileChanging(async () => {
      const cancelled = await this.flows.cancel(fn, name);
      await this.ends.noteCancelled();
      return cancelled;
    });
  }

  waiting: FlowStore['waiting'] = (...read) => this.flows.waiting(...read);

  members: FlowStore['members'] = (...read) => this.flows.members(...read);

  /** Its times count from when it may run, which is now at the earliest. */
  private record({ fn, input, options, place }: LaterJob, id: string, parents: readonly JobName[]): void {
    const { queue, score, delay } = place;
    const created = this.clock.now();
    const due = dueOf(score) ?? (delay === undefined ? undefined : created + delay);
    const expires = place.expires === undefined ? undefined : created + place.expires;
    const placement = defined({
      queue,
      score,
      delay,
      expires,
      options: options === '' ? undefined : options,
    });
    const after = parents.map((parent) => ({ fn: parent.fn, id: parent.id }));
    this.records.add({ fn, id, payload: input, placement, created, due, performed: false, after });
  }
}
