import type { FlowStore, JobOf, LaterJob, NewFlow, NewFlowJob } from '../gearmonkey/client/flow-store.js';
import type { EnqueuedKey } from '../gearmonkey/client/job-store.js';
import type { Clock } from '../job/clock.js';
import { defined } from '../job/defined.js';
import type { FlowEnds } from './flow-ends.js';
import { dueOf, type JobRecords } from './job-records.js';

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
      for (const [number, job] of jobs.entries()) this.record(job, flow.keys[number]?.id ?? '');
      await this.ends.note();
      return flow;
    });
  }

  add(job: LaterJob, after: readonly JobOf[]): Promise<EnqueuedKey> {
    return this.records.whileChanging(async () => {
      const key = await this.flows.add(job, after);
      this.record(job, key.id);
      await this.ends.note();
      return key;
    });
  }

  progress: FlowStore['progress'] = (...read) => this.flows.progress(...read);

  cancel(fn: string, name: string): Promise<number> {
    return this.records.whileChanging(async () => {
      const cancelled = await this.flows.cancel(fn, name);
      await this.ends.note();
      return cancelled;
    });
  }

  members: FlowStore['members'] = (...read) => this.flows.members(...read);

  private record({ fn, input, options, place }: LaterJob, id: string): void {
    const { queue, score, delay } = place;
    const placement = defined({ queue, score, delay, options: options === '' ? undefined : options });
    const created = this.clock.now();
    const times = { created, due: dueOf(score) };
    this.records.add({ fn, id, payload: input, placement, ...times, performed: false, isInFlow: true });
  }
}
