import type { JobErrorInfo } from '../job/errors.js';
import { UnknownParentError } from '../job/flow-errors.js';
import {
  CANCELLED_WITH_FLOW,
  PARENT_FAILED,
  writePlace,
  type FlowProgress,
  type LaterPlace,
} from '../job/flows.js';
import type { JobOf, LaterJob, NewFlow, NewFlowJob } from '../gearmonkey/features/flows/flow-store.js';
import type { EnqueuedKey } from '../gearmonkey/core/client/enqueued-key.js';
import type { FlowExpiries } from './flow-expiries.js';
import {
  keyOf,
  newFlow,
  newMember,
  timesOf,
  type Job,
  type Member,
  type StoredFlow,
} from './flow-members.js';
import type { MemoryFunction } from './memory-function.js';

const NEVER = { queue: 'scheduled', score: Infinity } as const;

/** The jobs of the embedded server that wait for others. */
export class MemoryFlows {
  private readonly members = new Map<string, Member>();
  private readonly flows = new Map<string, StoredFlow>();
  /** Ends that were not told on yet: telling them may end other jobs. */
  private readonly ended: (Job & { readonly succeeded: boolean; readonly now: number })[] = [];
  private isTelling = false;

  constructor(
    private readonly server: { function(name: string): MemoryFunction },
    private readonly expiries: FlowExpiries,
  ) {}

  create(jobs: readonly NewFlowJob[], after: readonly JobOf[], now: number): NewFlow {
    this.requireAll(after);
    const flow = newFlow(jobs[0]?.fn ?? '');
    this.flows.set(flow.name, flow);
    for (const job of jobs) flow.jobs.push({ fn: job.fn, id: this.enqueue(job, now) });
    const at = (numbers: readonly number[]) => numbers.flatMap((number) => flow.jobs[number] ?? []);
    for (const [number, job] of jobs.entries()) {
      const children = at(job.children);
      const parents = number === 0 ? after.map(({ fn: of, id }) => ({ fn: of, id })) : at(job.parents);
      const waits = number === 0 ? 0 : parents.length;
      const made = flow.jobs[number] as Job;
      this.join(made, newMember({ later: job, parents, children, waits, held: children.length, flow }));
      flow.kept += 1;
      this.jobsOf(made).set(made.id, { after: waits, flow: `${flow.name}:${flow.fn}` });
    }
    const [root] = flow.jobs as [Job];
    this.attach(root, after, now);
    return { name: flow.name, keys: flow.jobs.map(({ id }) => ({ id, created: true })) };
  }

  add(job: LaterJob, after: readonly JobOf[], now: number): EnqueuedKey {
    this.requireAll(after);
    const added = { fn: job.fn, id: this.enqueue(job, now) };
    const flow = after.map((parent) => this.members.get(keyOf(parent))?.flow).find((one) => one);
    flow?.jobs.push(added);
    if (flow) flow.kept += 1;
    this.jobsOf(added).set(added.id, { flow: flow && `${flow.name}:${flow.fn}` });
    const parents = after.map(({ fn, id }) => ({ fn, id }));
    this.join(added, newMember({ later: job, parents, flow }));
    this.attach(added, after, now);
    return { id: added.id, created: true };
  }

  progress(name: string): FlowProgress | undefined {
    const flow = this.flows.get(name);
    return flow && { done: flow.done, failed: flow.failed, total: flow.jobs.length };
  }

  /** Ends all jobs that don't run. Returns how many. */
  cancel(name: string, now: number): number {
    const flow = this.flows.get(name);
    if (!flow) return 0;
    flow.cancelled = true;
    const idle = flow.jobs.filter(({ fn, id }) => this.of(fn).jobs.text(id, 'status') === 'idle');
    for (const { fn, id } of idle) this.of(fn).cancel(id, CANCELLED_WITH_FLOW, now);
    return idle.length;
  }

  flow = (name: string): StoredFlow | undefined => this.flows.get(name);

  member = (job: Job): Member | undefined => this.members.get(keyOf(job));

  parentsOf(job: Job): readonly Job[] {
    return this.members.get(keyOf(job))?.parents ?? [];
  }

  /** Whether a job that has ended may still be read by one that waited for it, or will be told on. */
  isHeld(job: Job): boolean {
    return (this.members.get(keyOf(job))?.held ?? 0) > 0;
  }

  /** Tells jobs that wait for this one that it has ended. In a loop: a chain may be as long as a flow. */
  end(job: Job, succeeded: boolean, now: number): void {
    const member = this.members.get(keyOf(job));
    if (!member || member.hasEnded) return;
    member.hasEnded = true;
    this.expiries.forget(job);
    // One that has expired is still there.
    if (member.later) this.of(job.fn).waiting.remove(job.id, now);
    delete member.later;
    this.ended.push({ ...job, succeeded, now });
    if (this.isTelling) return;
    this.isTelling = true;
    try {
      // Those that end meanwhile are added behind.
      for (const next of this.ended) this.tell(next);
    } finally {
      this.ended.length = 0;
      this.isTelling = false;
    }
  }

  /** A job that had failed runs again. */
  retry(job: Job): void {
    const member = this.members.get(keyOf(job));
    if (!member?.hasEnded) return;
    member.hasEnded = false;
    if (member.flow) member.flow.failed -= 1;
  }

  /** A job that waits changes its place. Returns whether it waits. */
  move(job: Job, place: LaterPlace): boolean {
    const member = this.members.get(keyOf(job));
    if (!member?.later) return false;
    member.later = { ...member.later, place: { ...place, expires: member.later.place.expires } };
    this.of(job.fn).jobs.set(job.id, { place: writePlace(member.later.place) });
    return true;
  }

  /** The job is no longer kept; a flow is as long as any of its jobs. */
  forget(job: Job): void {
    const flow = this.members.get(keyOf(job))?.flow;
    this.members.delete(keyOf(job));
    this.expiries.forget(job);
    if (!flow) return;
    flow.kept -= 1;
    if (flow.kept === 0) this.flows.delete(flow.name);
  }

  private tell({ fn, id, succeeded, now }: Job & { succeeded: boolean; now: number }): void {
    const member = this.members.get(keyOf({ fn, id }));
    if (!member) return;
    const why = `job ${id} of "${fn}" did not succeed`;
    for (const child of member.children.splice(0)) this.release(child, succeeded, why, now);
    if (!member.hasLetGo) for (const parent of member.parents) this.letGo(parent);
    member.hasLetGo = true;
    const { flow } = member;
    if (!flow) return;
    if (succeeded) flow.done += 1;
    else flow.failed += 1;
    for (const listener of [...this.of(flow.fn).listeners]) listener.flowed?.(flow.name);
  }

  private release(child: Job, succeeded: boolean, why: string, now: number): void {
    const member = this.members.get(keyOf(child));
    if (!member?.later) return;
    const policy = member.later.onParentError;
    if (member.flow?.cancelled) return this.stop(child, CANCELLED_WITH_FLOW, now);
    if (!succeeded && policy !== 'run') return this.failWithParent(child, why, now);
    member.waits -= 1;
    this.jobsOf(child).set(child.id, { after: member.waits });
    if (member.waits <= 0) this.activate(child, now);
  }

  private failWithParent(job: Job, why: string, now: number): void {
    this.stop(job, { ...PARENT_FAILED, message: `${why}, and this job waited for it` }, now);
  }

  /** Ends a job that waits. */
  private stop({ fn, id }: Job, error: JobErrorInfo, now: number): void {
    const owner = this.of(fn);
    const policy = this.members.get(keyOf({ fn, id }))?.later?.onParentError;
    owner.waiting.remove(id, now);
    owner.end(id, 'error', error.message, error, now, error === CANCELLED_WITH_FLOW || policy === 'cancel');
  }

  /** The root of a flow, and a job with `after`, wait for jobs that there are: some may have ended. */
  private attach(job: Job, parents: readonly JobOf[], now: number): void {
    const member = this.members.get(keyOf(job)) as Member;
    let why: string | undefined;
    for (const { fn, id } of parents) {
      const parent = this.join({ fn, id });
      parent.held += 1;
      const status = this.of(fn).jobs.text(id, 'status');
      if (status === 'error') why ??= `job ${id} of "${fn}" did not succeed`;
      if (status === 'success' || status === 'error') continue;
      parent.children.push(job);
      member.waits += 1;
    }
    this.jobsOf(job).set(job.id, { after: member.waits });
    if (member.flow?.cancelled) this.stop(job, CANCELLED_WITH_FLOW, now);
    else if (why !== undefined && member.later?.onParentError !== 'run') this.failWithParent(job, why, now);
    else if (member.waits === 0) this.activate(job, now);
  }

  private activate(job: Job, now: number): void {
    const member = this.members.get(keyOf(job));
    if (!member?.later) return;
    const { queue } = member.later.place;
    const { due, options } = timesOf(member.later, now);
    delete member.later;
    const owner = this.of(job.fn);
    owner.jobs.clear(job.id, ['after', 'place']);
    owner.jobs.set(job.id, { due, ...(options !== '' && { options }) });
    this.expiries.note(job);
    owner.waiting.remove(job.id, now);
    owner.waiting.add(job.id, queue, due, undefined, now);
    owner.publish('create', job.id);
    owner.wake();
  }

  private letGo(parent: Job): void {
    const member = this.members.get(keyOf(parent));
    if (!member) return;
    member.held -= 1;
    if (member.held <= 0 && member.hasEnded && !member.flow) this.members.delete(keyOf(parent));
  }

  private enqueue(job: LaterJob, now: number): string {
    const { options } = job;
    const owner = this.of(job.fn);
    const id = owner.enqueueLater(job.input, { ...NEVER, ...(options !== '' && { options }) }, now);
    owner.jobs.set(id, { place: writePlace(job.place), 'on-parent-error': job.onParentError });
    return id;
  }

  private join(job: Job, member = this.members.get(keyOf(job)) ?? newMember()): Member {
    this.members.set(keyOf(job), member);
    this.expiries.note(job);
    return member;
  }

  /** @throws UnknownParentError */
  private requireAll(jobs: readonly JobOf[]): void {
    const missing = jobs.find(({ fn, id }) => !this.of(fn).jobs.has(id));
    if (missing) throw new UnknownParentError(missing.fn, missing.id);
  }

  private of = (fn: string) => this.server.function(fn);

  private jobsOf = ({ fn }: Job) => this.of(fn).jobs;
}
