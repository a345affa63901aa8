import type { Clock } from '../job/clock.js';
import type { FlowProgress } from '../job/flows.js';
import type { EnqueuedKey } from '../gearmonkey/core/client/enqueued-key.js';
import {
  MAX_SHOWN_PARENTS,
  type FlowMember,
  type FlowStore,
  type JobOf,
  type LaterJob,
  type NewFlow,
  type NewFlowJob,
  type WaitingFunctions,
} from '../gearmonkey/features/flows/flow-store.js';
import { stateOf } from '../gearmonkey/core/wire/stored-job.js';
import { keyOf } from './flow-members.js';
import type { MemoryFlows } from './memory-flows.js';
import type { MemoryServer } from './memory-server.js';

/** The client's side of flows. */
export class MemoryFlowStore implements FlowStore {
  constructor(
    private readonly server: MemoryServer,
    private readonly clock: Pick<Clock, 'now'>,
    private readonly checkOpen: () => void,
  ) {}

  async create(jobs: readonly NewFlowJob[], after: readonly JobOf[]): Promise<NewFlow> {
    return this.flows.create(jobs, after, this.clock.now());
  }

  async add(job: LaterJob, after: readonly JobOf[]): Promise<EnqueuedKey> {
    return this.flows.add(job, after, this.clock.now());
  }

  async progress(_fn: string, name: string): Promise<FlowProgress | undefined> {
    return this.flows.progress(name);
  }

  async cancel(_fn: string, name: string): Promise<number> {
    return this.flows.cancel(name, this.clock.now());
  }

  async waiting(fn: string, id: string): Promise<WaitingFunctions> {
    const jobs = new Map([[keyOf({ fn, id }), { fn, id }]]);
    // Those that are added meanwhile are looked at, too.
    for (const job of jobs.values())
      for (const child of this.flows.member(job)?.children ?? []) jobs.set(keyOf(child), child);
    const functions = [...jobs.values()].slice(1).map((job) => job.fn);
    return { functions: [...new Set(functions)], isWhole: true };
  }

  async members(_fn: string, name: string, from: number, most: number): Promise<FlowMember[]> {
    const { flows } = this;
    const now = this.clock.now();
    return (flows.flow(name)?.jobs.slice(from, from + most) ?? []).map((job) => {
      const { parents = [] } = flows.member(job) ?? {};
      const stored = this.server.function(job.fn).jobs.read(job.id);
      const state = stored ? stateOf(stored, now) : 'gone';
      const shown = parents.slice(0, MAX_SHOWN_PARENTS).map((parent) => ({ ...parent, mark: '' }));
      return { ...job, mark: '', state, parents: shown };
    });
  }

  private get flows(): MemoryFlows {
    this.checkOpen();
    return this.server.flows;
  }
}
