import { checkWhole } from '../../../job/check-whole.js';
import { defined } from '../../../job/defined.js';
import { ScheduleNotFoundError } from '../../../job/schedule-errors.js';
import type { GivenHeaders } from '../../../job/headers.js';
import type { FunctionRef, InputOf } from '../../../job/job-definition.js';
import { showAs } from '../../../job/show-as.js';
import {
  checkRecurNames,
  checkScheduleId,
  checkUpdateNames,
  specOf,
  type ScheduleOptions,
  type ScheduleChanges,
} from './recur-options.js';
import type { SchedulesStore, ScheduleStore } from './schedule-store.js';
import type { Schedule } from './schedule.js';
import { ScheduleWriter } from './schedule-writer.js';
import { parseSchedule } from './read-schedule.js';
import {
  optionsOfTick,
  payloadOf,
  storedInput,
  type DeclaringApp,
  type Spec,
  type StoredSchedule,
} from './spec.js';
import { loadPatterns, nextSlot, type Slot } from './timing.js';
import { updated } from './changed-spec.js';
import { ScheduleDeclarer, type DeclaredSchedules } from './declared-schedules.js';
import { JobHandle, type JobReader } from '../../core/client/job-handle.js';
import type { JobStore } from '../../core/client/job-store.js';
import type { NewJobs } from '../../core/client/new-jobs.js';
import type { UniqueOptions } from '../../../job/unique.js';
import type { KnownFunctions } from '../../core/client/known-functions.js';
import { ScheduleViews } from './schedule-views.js';

/** Most dates that `next` returns. */
const MAX_DATES = 1000;

/** How a schedule is put. */
interface PutOptions {
  readonly app?: DeclaringApp | undefined;
  readonly mayChange?: ((known: StoredSchedule) => boolean) | undefined;
  /** The time of its first job, also if that has passed, in ms since 1970. @default the first one from now on */
  readonly since?: number | undefined;
}

/** What a client gives to its schedules. */
export interface SchedulesParts {
  readonly store: JobStore & SchedulesStore;
  readonly functions: KnownFunctions;
  readonly reader: JobReader;
  readonly newJobs: NewJobs;
  readonly headers: (() => GivenHeaders | undefined) | undefined;
}

/** The schedules of recurring jobs: `jobs.schedules` of a client. They are on the server, for all its clients and workers. */
export class JobSchedules {
  static {
    showAs(JobSchedules, (schedules) => ({ server: schedules.#parts.store.address }));
  }

  readonly #parts: SchedulesParts;
  readonly #store: ScheduleStore;
  readonly #writer: ScheduleWriter;
  readonly #views: ScheduleViews;

  /** @internal */
  constructor(parts: SchedulesParts) {
    this.#parts = parts;
    this.#store = parts.store.schedules;
    this.#writer = new ScheduleWriter(this.#store);
    this.#views = new ScheduleViews(this.#store, parts.functions);
  }

  /** Makes or changes a schedule. @internal */
  async put<F extends FunctionRef>(
    ref: F,
    given: ScheduleOptions<InputOf<F>>,
    { app, mayChange = () => true, since }: PutOptions = {},
  ): Promise<Schedule<InputOf<F>>> {
    const { id, fn, spec } = await this.check(ref, given);
    const own = defined({ ...spec, app });
    const change = (known: StoredSchedule | undefined) =>
      known && !mayChange(known) ? undefined : this.#declared(own, known);
    const isOwn = (other: StoredSchedule) =>
      app !== undefined && other.spec.app !== undefined && mayChange(other);
    const written = await this.#writer.put(fn, id, change, { isOwn, since });
    if (!written) throw new ScheduleNotFoundError(id);
    return this.#views.shown(ref, fn, written);
  }

  /** Checks a schedule, without writing it. @internal */
  async check(
    ref: FunctionRef,
    given: ScheduleOptions,
  ): Promise<{ id: string; fn: string; spec: Omit<Spec, 'anchor'> }> {
    const { functions, headers } = this.#parts;
    await loadPatterns();
    const options = checkRecurNames(given);
    const id = checkScheduleId(options.id);
    const fn = functions.nameOf(ref);
    const added = { headers: headers?.(), expires: functions.setting(ref, 'expires') };
    const input = await this.#stored(ref, options.input);
    return { id, fn, spec: { ...specOf(options, added), ...input } };
  }

  /** Writes the schedules in the code of an app. Returns the higher version that declares them, if there is one. @internal */
  declare(declared: DeclaredSchedules): Promise<string | undefined> {
    const declarer = new ScheduleDeclarer(this.#store, ({ ref, options }, app, mayChange) =>
      this.put(ref, options, { app, mayChange }),
    );
    return declarer.declare(declared);
  }

  /** All schedules, or those of a function, in the order of their ids. One that can't be used has a `problem`. */
  async list(ref?: FunctionRef): Promise<Schedule[]> {
    const { functions } = this.#parts;
    await loadPatterns();
    if (ref !== undefined) return this.#views.list(new Map(), [functions.nameOf(ref)]);
    const index = await this.#store.index();
    return this.#views.list(
      index,
      [...new Set(index.values())].filter((fn) => functions.knows(fn)),
    );
  }

  /** Reads a schedule; null if there is none. */
  async get(id: string): Promise<Schedule | null> {
    const fn = await this.#store.functionOf(checkScheduleId(id));
    if (fn === undefined) return null;
    await loadPatterns();
    const [stored] = (await this.#store.read(this.#known(fn), [id])).schedules;
    return stored ? this.#views.any(fn, stored) : null;
  }

  /**
   * Changes some options; `null` removes one. Jobs that exist already stay as they are. If the times change, the next job is
   * the first of the new ones.
   *
   * @throws ScheduleNotFoundError, MalformedScheduleError, ConfigurationError, InvalidOptionError, and errors of the input as `run`
   */
  async update(id: string, changes: ScheduleChanges): Promise<Schedule> {
    await loadPatterns();
    const { input, ...options } = checkUpdateNames(changes);
    const fn = await this.#functionOf(id);
    const written = input === undefined ? {} : await this.#stored(fn, input);
    return this.#change(id, fn, ({ base64, ...spec }) =>
      updated({ ...spec, ...(base64 && input === undefined ? { base64 } : {}), ...written }, options),
    );
  }

  /** Creates no more jobs of a schedule until it is resumed. @throws ScheduleNotFoundError */
  async pause(id: string): Promise<Schedule> {
    return this.#change(id, await this.#functionOf(id), (spec) => ({ ...spec, paused: true }));
  }

  /** Goes on with the first job after now: none is made up for the time of the pause. @throws ScheduleNotFoundError */
  async resume(id: string): Promise<Schedule> {
    await loadPatterns();
    return this.#change(id, await this.#functionOf(id), resumed);
  }

  /**
   * Removes a schedule. Jobs that it has created stay. Returns whether there was one.
   *
   * @param ref its function: needed only if another program has written it without an entry in the index
   */
  async remove(id: string, ref?: FunctionRef): Promise<boolean> {
    const { functions } = this.#parts;
    const entered = await this.#store.functionOf(checkScheduleId(id));
    const fn = entered ?? (ref === undefined ? undefined : functions.nameOf(ref));
    return fn === undefined ? false : this.#writer.remove(this.#known(fn), id);
  }

  /** Enqueues a job of a schedule at once, beside those of its times. @throws ScheduleNotFoundError, and as `run` */
  async runNow(id: string): Promise<JobHandle> {
    const { fn, schedule, now } = await this.#need(id);
    const { store, reader, newJobs } = this.#parts;
    const { spec, previous } = schedule;
    const options = optionsOfTick(spec, defined({ id, slot: now, previous }), now);
    const payload = payloadOf(spec);
    const placed = newJobs.placeBy('unique', fn, { queue: 'normal', options }, { unique: uniqueOf(spec) }, [
      payload,
    ]);
    const [key] = await store.enqueue(fn, [payload], placed);
    return new JobHandle(reader, fn, fn, key ?? { id: '', created: true });
  }

  /** The slots of the next `count` jobs; fewer if the schedule ends before. @throws ScheduleNotFoundError, InvalidOptionError */
  async next(id: string, count = 1): Promise<Date[]> {
    checkWhole('count', count, 1, MAX_DATES);
    await loadPatterns();
    const { schedule, now } = await this.#need(id);
    const { spec, made } = schedule;
    const most = Math.min(count, (spec.limit ?? Infinity) - made);
    const dates: Date[] = [];
    let slot: Slot | undefined = spec.paused ? nextSlot(spec, now) : schedule.slot;
    while (slot && dates.length < most) {
      dates.push(new Date(slot.time));
      slot = nextSlot(spec, slot.time, slot.label);
    }
    return dates;
  }

  /** A pause is an operator's, and survives that the code declares the schedule again. */
  #declared(own: Omit<Spec, 'anchor'>, known: StoredSchedule | undefined): Omit<Spec, 'anchor'> {
    return known?.spec.paused ? { ...own, paused: true } : own;
  }

  /** An input, and the unique key that its definition makes from it. */
  async #stored(ref: FunctionRef, given: unknown): Promise<Pick<Spec, 'input' | 'base64' | 'unique'>> {
    const { functions } = this.#parts;
    const input = given === undefined ? null : given;
    const { rule, keyOf } = functions.setting(ref, 'unique') ?? {};
    const encoded = storedInput(await functions.encode(ref, input));
    // A debounced job would begin later than its time.
    if (!rule || !keyOf || rule.kind === 'debounce') return encoded;
    return { ...encoded, unique: { ...rule, key: keyOf(input) } };
  }

  async #change(id: string, fn: string, change: (spec: Spec) => Omit<Spec, 'anchor'>): Promise<Schedule> {
    const written = await this.#writer.change(fn, id, (known) => known && change(known.spec));
    // It is not there any more, or malformed.
    if (!written) await this.#need(id);
    if (!written) throw new ScheduleNotFoundError(id);
    return this.#views.shown(fn, fn, written);
  }

  async #functionOf(id: string): Promise<string> {
    const fn = await this.#store.functionOf(checkScheduleId(id));
    if (fn === undefined) throw new ScheduleNotFoundError(id);
    return this.#known(fn);
  }

  /** @throws UnknownFunctionError for a function that this client may not use */
  #known(fn: string): string {
    const { functions } = this.#parts;
    return functions.knows(fn) ? fn : functions.nameOf(fn);
  }

  async #need(id: string): Promise<{ fn: string; schedule: StoredSchedule; now: number }> {
    const fn = await this.#functionOf(id);
    const { now, schedules } = await this.#store.read(fn, [id]);
    if (!schedules[0]) throw new ScheduleNotFoundError(id);
    return { fn, schedule: parseSchedule(schedules[0]), now };
  }
}

function resumed(spec: Spec): Spec {
  return defined({ ...spec, paused: undefined });
}

function uniqueOf({ unique }: Spec): UniqueOptions | false {
  if (!unique) return false;
  const { key, kind, span = 0 } = unique;
  return kind === 'throttle' ? { key, throttle: span } : { key, while: kind };
}
