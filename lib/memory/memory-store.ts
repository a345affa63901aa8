import { setImmediate } from 'node:timers';
import { systemClock, type Clock } from '../job/clock.js';
import type { Payload } from '../job/codec.js';
import { JobCancelledError } from '../job/abort-errors.js';
import type { LimitState } from '../job/limit.js';
import type { Signalled } from '../job/signals.js';
import type { Counts } from '../job/statistics.js';
import { LimitUnknownError } from '../job/limit-errors.js';
import { ConnectionError } from '../job/server-errors.js';
import type {
  EnqueuedKey,
  JobListener,
  Place,
  ReadProgress,
  Placement,
} from '../gearmonkey/core/client/job-store.js';
import type { Changes, DrainedStep, DrainStep } from '../gearmonkey/features/edits/edit-store.js';
import type { EndedJob, MendVerb } from '../gearmonkey/features/views/view-store.js';
import type { GearMonkeyStore } from '../gearmonkey/features/index.js';
import type { LimitsQuery } from '../gearmonkey/features/limits/limit-store.js';
import { expiryAt, scoreOf } from '../gearmonkey/core/client/placement.js';
import type { Cancellation, Updated } from '../gearmonkey/core/wire/scripts.js';
import type { StoredJob } from '../gearmonkey/core/wire/stored-job.js';
import type { JobKey } from '../gearmonkey/core/wire/protocol.js';
import { progressOf } from '../gearmonkey/core/wire/stored-job.js';
import { admit, replace } from './admission.js';
import type { LimitNumbers } from './limit-counts.js';
import { withExpiry } from './flow-members.js';
import { drainJobs, updateJob } from './memory-edits.js';
import { MemoryFlowStore } from './memory-flow-store.js';
import type { MemoryFunction } from './memory-function.js';
import { mendJobs } from './memory-mend.js';
import { MemorySchedules } from './memory-schedules.js';
import type { MemoryServer } from './memory-server.js';
import { signalJob } from './memory-signals.js';
import { MemoryViews } from './memory-views.js';

/** With times in place of spans. */
function placedAt(placement: Placement, now: number): Placement {
  const score = scoreOf(placement, now);
  const placed = score === undefined ? placement : { ...placement, score };
  if (placement.expiresIn === undefined) return placed;
  return { ...placed, options: withExpiry(placement.options ?? '', expiryAt(placement, now) as number) };
}

/** The client's side of the embedded server. It never reuses an id, so its job keys need no marks. */
export class MemoryStore implements GearMonkeyStore {
  readonly system = 'memory';
  readonly address = 'memory:';
  readonly schedules: MemorySchedules;
  readonly views: MemoryViews;
  readonly flows: MemoryFlowStore;
  private closed = false;

  constructor(
    private readonly server: MemoryServer,
    readonly clock: Clock = systemClock,
  ) {
    this.schedules = new MemorySchedules(server, clock);
    this.views = new MemoryViews(server, clock);
    this.flows = new MemoryFlowStore(server, clock, () => this.checkOpen());
  }

  async enqueue(fn: string, inputs: readonly Payload[], placement: Placement): Promise<EnqueuedKey[]> {
    const target = this.function(fn);
    const now = this.clock.now();
    const placed = placedAt(placement, now);
    const { limit, unique } = placement;
    if (limit) admit(target, fn, limit, now);
    return inputs.map((input, index) => {
      if (unique) return target.unique.enqueue(unique.keys[index] ?? '', unique.rule, input, placed, now);
      const key = limit?.keys[index];
      if (limit?.onFull === 'replace' && key !== undefined) replace(target, key, limit.replace, now);
      return { id: target.enqueue(input, placed, now, key), created: true };
    });
  }

  async read(fn: string, ids: readonly string[]): Promise<(StoredJob | undefined)[]> {
    return ids.map((id) => this.function(fn).read(id, this.clock.now()));
  }

  readStream: GearMonkeyStore['readStream'] = async (fn, id, kind, from) =>
    this.function(fn).jobs.stream(id, kind).read(from);

  async readProgress(fn: string, ids: readonly string[]): Promise<ReadProgress[]> {
    return (await this.read(fn, ids)).map((stored) => ({
      progress: stored && progressOf(stored),
      isOver: !stored || stored.has('finished'),
    }));
  }

  async cancel(fn: string, { id }: JobKey): Promise<Cancellation> {
    const { name, code, message } = new JobCancelledError(fn, id);
    return this.function(fn).cancel(id, { name, code, message }, this.clock.now());
  }

  async expire(fn: string, { id }: JobKey): Promise<number> {
    return this.function(fn).expire(id, this.clock.now());
  }

  async limits(fn: string, query: LimitsQuery): Promise<LimitState[]> {
    return this.function(fn).limits.list(query, this.clock.now());
  }

  async setLimit(fn: string, numbers: LimitNumbers | undefined): Promise<void> {
    const { limits } = this.function(fn);
    if (!limits.isKnown) throw new LimitUnknownError(fn);
    limits.change(numbers, this.clock.now());
  }

  async count(fn: string): Promise<string | undefined> {
    const { workers } = this.function(fn);
    return workers === 0 ? undefined : String(workers);
  }

  async statistics(fn: string, hours: readonly number[]): Promise<Counts[]> {
    this.function(fn);
    return this.server.statistics(fn).read(hours);
  }

  async update(fn: string, { id }: JobKey, changes: Changes): Promise<Updated> {
    const isMoved = (place: Place) => this.server.flows.move({ fn, id }, place);
    return updateJob(this.function(fn), id, changes, this.clock.now(), isMoved);
  }

  async signal(fn: string, { id }: JobKey, name: string, data: Payload): Promise<Signalled> {
    return signalJob(this.function(fn), id, name, data, this.clock.now());
  }

  async lastId(fn: string): Promise<number> {
    return this.function(fn).lastId;
  }

  async drain(fn: string, step: DrainStep): Promise<DrainedStep> {
    // Leaves room for timers and sockets, also for what aborts the drain.
    await new Promise<void>((resolve) => setImmediate(resolve));
    return drainJobs(this.function(fn), step, this.clock.now());
  }

  async mend(fn: string, verb: MendVerb, jobs: readonly EndedJob[]): Promise<number> {
    await new Promise<void>((resolve) => setImmediate(resolve));
    return mendJobs(this.function(fn), verb, jobs, this.clock.now(), {
      isHeld: (id) => this.server.flows.isHeld({ fn, id }),
      retried: (id) => this.server.flows.retry({ fn, id }),
    });
  }

  async pause(fn: string, paused: boolean): Promise<void> {
    this.function(fn).control.pause(paused);
  }

  async isPaused(fn: string): Promise<boolean> {
    return this.function(fn).control.isPaused;
  }

  async listenToControl(fn: string, changed: () => void): Promise<() => void> {
    const { listeners } = this.function(fn).control;
    // A function of its own for each listener.
    const call = () => changed();
    listeners.add(call);
    return () => listeners.delete(call);
  }

  async listen(fn: string, listener: JobListener): Promise<() => void> {
    const { listeners } = this.function(fn);
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  async close(): Promise<void> {
    this.closed = true;
  }

  /** @throws ConnectionError after `close` */
  private function(fn: string): MemoryFunction {
    this.checkOpen();
    return this.server.function(fn);
  }

  private checkOpen(): void {
    if (this.closed) throw ConnectionError.closed();
  }
}
