import type { Payload } from '../job/codec.js';
import { defined } from '../job/defined.js';
import type { Clock } from '../job/clock.js';
import type { Counts } from '../job/statistics.js';
import type { LimitRules, LimitState } from '../job/limit.js';
import type {
  EnqueuedKey,
  JobListener,
  Placement,
  ReadProgress,
} from '../gearmonkey/core/client/job-store.js';
import type { Changes, DrainedStep, DrainStep } from '../gearmonkey/features/edits/edit-store.js';
import type { EndedJob, MendVerb } from '../gearmonkey/features/views/view-store.js';
import type { GearMonkeyStore } from '../gearmonkey/features/index.js';
import type { LimitsQuery } from '../gearmonkey/features/limits/limit-store.js';
import { scoreOf } from '../gearmonkey/core/client/placement.js';
import type { FlowStore } from '../gearmonkey/features/flows/flow-store.js';
import type { ViewStore } from '../gearmonkey/features/views/view-store.js';
import type { ScheduleStore } from '../gearmonkey/features/schedules/schedule-store.js';
import type { JobKey } from '../gearmonkey/core/wire/protocol.js';
import type { Cancellation, Updated } from '../gearmonkey/core/wire/scripts.js';
import type { StoredJob } from '../gearmonkey/core/wire/stored-job.js';
import type { FlowEnds } from './flow-ends.js';
import { RecordingFlows } from './recording-flows.js';
import { dueOf, type JobRecords } from './job-records.js';

/** The store of a test's clients. It records what they enqueue, and delays use the test's clock. */
export class RecordingStore implements GearMonkeyStore {
  constructor(
    private readonly store: GearMonkeyStore,
    readonly clock: Clock,
    private readonly records: JobRecords,
    private readonly ends: FlowEnds,
    private readonly onEnded: (fn: string, id: string) => Promise<void>,
    private readonly onClose: () => Promise<void>,
  ) {}

  get system(): string {
    return this.store.system;
  }

  get address(): string {
    return this.store.address;
  }

  get inbox(): string | undefined {
    return this.store.inbox;
  }

  get schedules(): ScheduleStore {
    return this.store.schedules;
  }

  get flows(): FlowStore {
    return new RecordingFlows(this.store.flows, this.clock, this.records, this.ends);
  }

  get views(): ViewStore {
    return this.store.views;
  }

  enqueue(fn: string, inputs: readonly Payload[], placement: Placement): Promise<EnqueuedKey[]> {
    return this.records.whileChanging(() => this.record(fn, inputs, placement));
  }

  read(fn: string, ids: readonly string[], wanted?: () => boolean): Promise<(StoredJob | undefined)[]> {
    return this.store.read(fn, ids, wanted);
  }

  readProgress(fn: string, ids: readonly string[]): Promise<ReadProgress[]> {
    return this.store.readProgress(fn, ids);
  }

  async cancel(fn: string, job: JobKey): Promise<Cancellation> {
    const [before] = await this.store.read(fn, [job.id]);
    const came = await this.store.cancel(fn, job);
    // A job that was cancelled before is not reported again.
    if (came === 'cancelled' && !before?.has('finished')) await this.onEnded(fn, job.id);
    return came;
  }

  async expire(fn: string, job: JobKey): Promise<number> {
    const [before] = await this.store.read(fn, [job.id]);
    const left = await this.store.expire(fn, job, this.clock.now());
    if (left === 0 && !before?.has('finished')) await this.onEnded(fn, job.id);
    return left;
  }

  statistics(fn: string, hours: readonly number[], byMinute: boolean): Promise<Counts[]> {
    return this.store.statistics(fn, hours, byMinute);
  }

  limits(fn: string, query: LimitsQuery): Promise<LimitState[]> {
    return this.store.limits(fn, query);
  }

  setLimit(fn: string, numbers: Pick<LimitRules, 'concurrency' | 'rate'> | undefined): Promise<void> {
    return this.store.setLimit(fn, numbers);
  }

  readStream: GearMonkeyStore['readStream'] = (...read) => this.store.readStream(...read);

  signal: GearMonkeyStore['signal'] = (...signal) => this.store.signal(...signal);

  async update(fn: string, job: JobKey, { place, ...changes }: Changes): Promise<Updated> {
    const score = place && scoreOf(place, this.clock.now());
    const moved = place && defined({ queue: place.queue, score });
    const came = await this.records.whileChanging(() =>
      this.store.update(fn, job, { ...changes, place: moved }),
    );
    if (came === 'updated') this.records.change(fn, job.id, { ...changes, place, score });
    return came;
  }

  lastId(fn: string): Promise<number> {
    return this.store.lastId(fn);
  }

  async drain(fn: string, step: DrainStep): Promise<DrainedStep> {
    const drained = await this.records.whileChanging(() => this.store.drain(fn, step));
    for (const id of drained.ids) await this.onEnded(fn, id);
    return drained;
  }

  mend(fn: string, verb: MendVerb, jobs: readonly EndedJob[]): Promise<number> {
    return this.records.whileChanging(() => this.store.mend(fn, verb, jobs));
  }

  pause(fn: string, paused: boolean): Promise<void> {
    return this.records.whileChanging(() => this.store.pause(fn, paused));
  }

  isPaused(fn: string, wanted?: () => boolean): Promise<boolean> {
    return this.store.isPaused(fn, wanted);
  }

  listenToControl(fn: string, changed: () => void): Promise<() => void> {
    return this.store.listenToControl(fn, changed);
  }

  count(fn: string): Promise<string | undefined> {
    return this.store.count(fn);
  }

  listen(fn: string, listener: JobListener): Promise<() => void> {
    return this.store.listen(fn, listener);
  }

  close(): Promise<void> {
    return this.onClose();
  }

  /** Jobs that new ones have replaced are cancelled: their handlers must learn of it. */
  private async endReplaced(fn: string): Promise<void> {
    const unfinished = this.records.unfinished(fn);
    const stored = await this.store.read(fn, unfinished);
    for (const [index, id] of unfinished.entries())
      if (stored[index]?.get('error')?.toString().includes('"JOB_CANCELLED"')) await this.onEnded(fn, id);
  }

  private async record(fn: string, inputs: readonly Payload[], placement: Placement): Promise<EnqueuedKey[]> {
    const created = this.clock.now();
    const { delay: _, ...rest } = placement;
    const score = scoreOf(placement, created);
    const placed = score === undefined ? rest : { ...rest, score };
    const keys = await this.store.enqueue(fn, inputs, placed);
    if (placement.limit?.onFull === 'replace') await this.endReplaced(fn);
    const isDebounced = placement.unique?.rule.kind === 'debounce';
    for (const [index, { id, created: isNew }] of keys.entries()) {
      const due = dueOf(score);
      const payload = inputs[index] ?? '';
      if (isNew) this.records.add({ fn, id, payload, placement, created, due, performed: false });
      else if (isDebounced)
        this.records.replace(fn, id, { payload, placement, due: await this.storedDue(fn, id, due) });
    }
    return keys;
  }

  /** When a debounced job runs, which `maxWait` may limit. */
  private async storedDue(fn: string, id: string, due: number | undefined): Promise<number | undefined> {
    const [stored] = await this.store.read(fn, [id]);
    return stored ? Number(Buffer.from(stored.get('due') ?? []).toString()) : due;
  }
}
