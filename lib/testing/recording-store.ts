import { areDebounced } from '../gearmonkey/features/unique/create-unique.js';
import { limitedJobsIn } from '../gearmonkey/features/limits/placed-limit.js';
import type { Payload } from '../job/codec.js';
import { defined } from '../job/defined.js';
import type { Clock } from '../job/clock.js';
import type {
  EnqueuedKey,
  JobListener,
  Placement,
  ReadProgress,
  PresentWorker,
} from '../gearmonkey/core/client/job-store.js';
import type { EditStore } from '../gearmonkey/features/edits/edit-store.js';
import type { GearMonkeyStore } from '../gearmonkey/features/index.js';
import { scoreOf } from '../gearmonkey/core/client/placement.js';
import type { JobKey } from '../gearmonkey/core/wire/protocol.js';
import type { StoredJob } from '../gearmonkey/core/wire/stored-job.js';
import type { FlowEnds } from './flow-ends.js';
import { RecordingFlows } from './recording-flows.js';
import { dueOf, type JobRecords } from './job-records.js';

/** The store of a test's clients. It records what they enqueue, and delays use the test's clock. */
export class RecordingStore implements GearMonkeyStore {
  readonly edits: GearMonkeyStore['edits'];
  readonly flows: GearMonkeyStore['flows'];
  readonly limits: GearMonkeyStore['limits'];
  readonly schedules: GearMonkeyStore['schedules'];
  readonly signals: GearMonkeyStore['signals'];
  readonly statistics: GearMonkeyStore['statistics'];
  readonly streams: GearMonkeyStore['streams'];
  readonly views: GearMonkeyStore['views'];

  constructor(
    private readonly store: GearMonkeyStore,
    readonly clock: Clock,
    private readonly jobs: JobRecords,
    ends: FlowEnds,
    private readonly onEnded: (fn: string, id: string) => Promise<void>,
    private readonly onClose: () => Promise<void>,
  ) {
    const { edits, flows, limits, schedules, signals, statistics, streams, views } = store;
    this.edits = changed(edits, this.recordingEdits(edits));
    this.flows = new RecordingFlows(flows, clock, jobs, ends);
    [this.limits, this.schedules] = [limits, schedules];
    [this.signals, this.statistics, this.streams] = [signals, statistics, streams];
    this.views = changed(views, { mend: (...mended) => jobs.whileChanging(() => views.mend(...mended)) });
  }

  get system(): string {
    return this.store.system;
  }

  get address(): string {
    return this.store.address;
  }

  get inbox(): string | undefined {
    return this.store.inbox;
  }

  enqueue(fn: string, inputs: readonly Payload[], placement: Placement): Promise<EnqueuedKey[]> {
    return this.jobs.whileChanging(() => this.record(fn, inputs, placement));
  }

  read(fn: string, ids: readonly string[], wanted?: () => boolean): Promise<(StoredJob | undefined)[]> {
    return this.store.read(fn, ids, wanted);
  }

  now(fn: string, wanted?: () => boolean): Promise<number> {
    return this.store.now(fn, wanted);
  }

  workers(fn: string): Promise<PresentWorker[]> {
    return this.store.workers(fn);
  }

  readProgress(fn: string, ids: readonly string[]): Promise<ReadProgress[]> {
    return this.store.readProgress(fn, ids);
  }

  async expire(fn: string, job: JobKey): Promise<number> {
    const [before] = await this.store.read(fn, [job.id]);
    const left = await this.store.expire(fn, job, this.clock.now());
    if (left === 0 && !before?.has('finished')) await this.onEnded(fn, job.id);
    return left;
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

  private recordingEdits(edits: EditStore): Partial<EditStore> {
    const { clock, jobs, onEnded } = this;
    return {
      cancel: async (fn, job, sparesRunning) => {
        const came = await edits.cancel(fn, job, sparesRunning);
        if (came === 'cancelled') await onEnded(fn, job.id);
        return came;
      },
      update: async (fn, job, { place, ...changes }) => {
        const score = place && scoreOf(place, clock.now());
        const moved = place && defined({ queue: place.queue, score });
        const came = await jobs.whileChanging(() => edits.update(fn, job, { ...changes, place: moved }));
        if (came === 'updated') jobs.change(fn, job.id, { ...changes, place, score });
        return came;
      },
      drain: async (fn, step) => {
        const drained = await jobs.whileChanging(() => edits.drain(fn, step));
        for (const id of drained.ids) await onEnded(fn, id);
        return drained;
      },
      pause: (fn, paused) => jobs.whileChanging(() => edits.pause(fn, paused)),
    };
  }

  /** Jobs that new ones have replaced are cancelled: their handlers must learn of it. */
  private async endReplaced(fn: string): Promise<void> {
    const unfinished = this.jobs.unfinished(fn);
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
    if (limitedJobsIn(placement)?.each[0]?.limit.onFull === 'replace') await this.endReplaced(fn);
    const isDebounced = areDebounced(placement);
    for (const [index, { id, created: isNew }] of keys.entries()) {
      const due = dueOf(score);
      const payload = inputs[index] ?? '';
      if (isNew) this.jobs.add({ fn, id, payload, placement, created, due, performed: false });
      else if (isDebounced)
        this.jobs.replace(fn, id, { payload, placement, due: await this.storedDue(fn, id, due) });
    }
    return keys;
  }

  /** When a debounced job runs, which `maxWait` may limit. */
  private async storedDue(fn: string, id: string, due: number | undefined): Promise<number | undefined> {
    const [stored] = await this.store.read(fn, [id]);
    return stored ? Number(Buffer.from(stored.get('due') ?? []).toString()) : due;
  }
}

/** An object with other methods in place of some. */
function changed<T extends object>(object: T, methods: Partial<T>): T {
  return Object.assign(Object.create(object) as T, methods);
}
