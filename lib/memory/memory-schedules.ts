import type {
  FoundSchedules,
  ScheduleStore,
  Tick,
  TickedJob,
  WrittenSchedule,
} from '../gearmonkey/recurring/schedule-store.js';
import { compareVersions } from '../gearmonkey/recurring/compare-versions.js';
import type { Placement } from '../gearmonkey/client/job-store.js';
import type { DeclaringApp, UniqueTick } from '../gearmonkey/recurring/spec.js';
import type { StoredFields } from '../gearmonkey/wire/schedule-scripts.js';
import type { Clock } from '../job/clock.js';
import type { Payload } from '../job/codec.js';
import type { MemoryFunction } from './memory-function.js';
import type { MemorySchedule } from './memory-schedule.js';
import type { MemoryServer } from './memory-server.js';

/** Schedules of the embedded server. */
export class MemorySchedules implements ScheduleStore {
  constructor(
    private readonly server: MemoryServer,
    private readonly clock: Pick<Clock, 'now'>,
  ) {}

  async index(): Promise<ReadonlyMap<string, string>> {
    return new Map(this.server.schedules);
  }

  async functionOf(id: string): Promise<string | undefined> {
    return this.server.schedules.get(id);
  }

  async enter(id: string, fn: string): Promise<string> {
    const known = this.server.schedules.get(id);
    if (known === undefined) this.server.schedules.set(id, fn);
    return known ?? fn;
  }

  async erase(id: string): Promise<void> {
    this.server.schedules.delete(id);
  }

  async announce({ name, version }: DeclaringApp, alone: boolean): Promise<string[]> {
    const known = [...(this.server.apps.get(name) ?? []), version];
    const left = known.filter(
      (other) => other === version || (!alone && compareVersions(other, version) > 0),
    );
    this.server.apps.set(name, new Set(left));
    return left;
  }

  async read(fn: string, ids?: readonly string[]): Promise<FoundSchedules> {
    const { schedules } = this.server.function(fn);
    return this.found(fn, ids ?? [...schedules.keys()]);
  }

  async write(
    fn: string,
    id: string,
    read: Pick<StoredFields, 'version' | 'slot'>,
    written: WrittenSchedule | undefined,
  ): Promise<boolean> {
    const owner = this.server.function(fn);
    const known = owner.schedules.get(id);
    if ((known?.version ?? '') !== read.version || (known?.slot?.label ?? '') !== read.slot) return false;
    if (!written) {
      owner.schedules.delete(id);
      return true;
    }
    const { spec, version, next } = written;
    const state = known ?? { previous: '', made: 0, job: '' };
    owner.schedules.set(id, { ...state, spec, version, slot: next });
    for (const tell of [...owner.schedules.tickers]) tell();
    return true;
  }

  async due(fn: string): Promise<FoundSchedules> {
    const now = this.clock.now();
    const due = [...this.server.function(fn).schedules]
      .filter(([, { slot }]) => slot && slot.time <= now)
      .toSorted(([, one], [, other]) => (one.slot?.time ?? 0) - (other.slot?.time ?? 0));
    return this.found(
      fn,
      due.map(([id]) => id),
    );
  }

  async tick(fn: string, ticks: readonly Tick[]): Promise<{ wait: number; jobs: readonly TickedJob[] }> {
    const owner = this.server.function(fn);
    const now = this.clock.now();
    const created = ticks.flatMap((tick) => tickNow(owner, tick, now));
    return { wait: waitOf(owner, now), jobs: created };
  }

  private found(fn: string, ids: readonly string[]): FoundSchedules {
    const owner = this.server.function(fn);
    const now = this.clock.now();
    const schedules = ids.flatMap((id) => {
      const found = owner.schedules.get(id);
      return found ? [fieldsOf(id, found)] : [];
    });
    return { now, wait: waitOf(owner, now), schedules };
  }
}

function tickNow(owner: MemoryFunction, tick: Tick, now: number): TickedJob[] {
  const { id, version, slot, next, skipsIfRunning, unique, input, jobs } = tick;
  const known = owner.schedules.get(id);
  if (known?.version !== version || (known.slot?.label ?? '') !== slot) return [];
  known.slot = next;
  const created: TickedJob[] = [];
  for (const job of jobs) {
    if (skipsIfRunning && isRunning(owner, known.job)) continue;
    const placement = { queue: 'scheduled', score: job.due / 1000, options: job.options } as const;
    const made = enqueue(owner, unique, input, placement, now);
    if (made === undefined) continue;
    known.job = made;
    known.previous = String(job.slot);
    known.made += 1;
    created.push({ schedule: id, id: known.job });
  }
  return created;
}

/** Returns its id; undefined if another job has its unique key. */
function enqueue(
  owner: MemoryFunction,
  unique: UniqueTick | undefined,
  input: Payload,
  placement: Placement,
  now: number,
): string | undefined {
  if (!unique) return owner.enqueue(input, placement, now);
  const { key, kind, span = 0 } = unique;
  const rule = kind === 'throttle' ? { kind, span } : { kind };
  const { id, created } = owner.unique.enqueue(key, rule, input, placement, now);
  return created ? id : undefined;
}

function isRunning({ jobs }: MemoryFunction, job: string): boolean {
  return jobs.has(job) && !jobs.isFinal(job);
}

/** Milliseconds until the next tick of a function, or -1. */
export function waitOf({ schedules }: MemoryFunction, now: number): number {
  let first = Infinity;
  for (const { slot } of schedules.values()) first = Math.min(first, slot?.time ?? Infinity);
  return first === Infinity ? -1 : Math.max(0, first - now);
}

function fieldsOf(id: string, { spec, version, slot, previous, made, job }: MemorySchedule): StoredFields {
  const [label, time] = slot ? [slot.label, String(slot.time)] : ['', ''];
  return { id, spec, version, slot: label, time, previous, made: String(made), job };
}
