import type {
  FoundSchedules,
  ScheduleStore,
  Tick,
  TickedJob,
  WrittenSchedule,
} from '../gearmonkey/features/schedules/schedule-store.js';
import { compareVersions } from '../gearmonkey/features/schedules/compare-versions.js';
import type { Placement } from '../gearmonkey/core/client/job-store.js';
import type { DeclaringApp, UniqueTick } from '../gearmonkey/features/schedules/spec.js';
import type { DueSchedules, StoredFields } from '../gearmonkey/features/schedules/schedule-scripts.js';
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

  async enter(id: string, known: string, fn: string): Promise<string> {
    const recorded = this.server.schedules.get(id) ?? '';
    if (recorded !== known) return recorded;
    if (fn === '') this.server.schedules.delete(id);
    else this.server.schedules.set(id, fn);
    return fn;
  }

  async announce({ name, version }: DeclaringApp, alone: boolean): Promise<string[]> {
    const known = [...(this.server.apps.get(name) ?? []), version];
    const left = known.filter(
      (other) => other === version || (!alone && compareVersions(other, version) > 0),
    );
    this.server.apps.set(name, new Set(left));
    return left;
  }

  async read(fn: string, ids: readonly string[]): Promise<FoundSchedules> {
    return { now: this.clock.now(), schedules: this.fieldsOf(fn, ids) };
  }

  async *pages(fn: string): AsyncGenerator<readonly StoredFields[]> {
    yield this.fieldsOf(fn, [...this.server.function(fn).schedules.keys()]);
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

  async due(fn: string, passedOver: number): Promise<DueSchedules> {
    const now = this.clock.now();
    const owner = this.server.function(fn);
    const due = [...owner.schedules]
      .filter(([, { slot }]) => slot && slot.time <= now)
      .toSorted(([, one], [, other]) => (one.slot?.time ?? 0) - (other.slot?.time ?? 0));
    const ids = due.slice(passedOver).map(([id]) => id);
    return { now, wait: waitOf(owner, now, now), schedules: this.fieldsOf(fn, ids) };
  }

  async tick(fn: string, ticks: readonly Tick[]): Promise<{ wait: number; jobs: readonly TickedJob[] }> {
    const owner = this.server.function(fn);
    const now = this.clock.now();
    const created = ticks.flatMap((tick) => tickNow(owner, tick, now));
    return { wait: waitOf(owner, now), jobs: created };
  }

  private fieldsOf(fn: string, ids: readonly string[]): StoredFields[] {
    const { schedules } = this.server.function(fn);
    return ids.flatMap((id) => {
      const found = schedules.get(id);
      return found ? [fieldsOf(id, found)] : [];
    });
  }
}

function tickNow(owner: MemoryFunction, tick: Tick, now: number): TickedJob[] {
  const { id, version, slot, next, limit = Infinity, skipsIfRunning, unique, input, jobs } = tick;
  const known = owner.schedules.get(id);
  if (known?.version !== version || (known.slot?.label ?? '') !== slot) return [];
  const created: TickedJob[] = [];
  for (const job of jobs) {
    if (known.made >= limit || (skipsIfRunning && isRunning(owner, known.job))) continue;
    const placement = { queue: 'scheduled', score: job.due / 1000, options: job.options } as const;
    const made = enqueue(owner, unique, input, placement, now);
    if (made === undefined) continue;
    known.job = made;
    known.previous = String(job.slot);
    known.made += 1;
    created.push({ schedule: id, id: known.job });
  }
  known.slot = known.made < limit ? next : undefined;
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

/** Milliseconds until the next tick of a function, or -1. @param after only a later one counts */
export function waitOf({ schedules }: MemoryFunction, now: number, after = -Infinity): number {
  let first = Infinity;
  for (const { slot } of schedules.values())
    if (slot && slot.time > after) first = Math.min(first, slot.time);
  return first === Infinity ? -1 : Math.max(0, first - now);
}

function fieldsOf(id: string, { spec, version, slot, previous, made, job }: MemorySchedule): StoredFields {
  const [label, time] = slot ? [slot.label, String(slot.time)] : ['', ''];
  return { id, spec, version, slot: label, time, previous, made: String(made), job };
}
