import { defined } from '../../../job/defined.js';
import type { Spec, StoredSchedule } from './spec.js';
import { nextSlot, type Slot, type Timing } from './timing.js';

/** A schedule as it is to be. `every` still lacks its anchor. */
export type NewSpec = Omit<Spec, 'anchor'>;

/** Sets from when `every` counts: a schedule that is written again as it was goes on as it went. */
export function anchored(spec: NewSpec, known: StoredSchedule | undefined, now: number): Spec {
  if (spec.every === undefined) return spec;
  const keeps = known?.spec.every === spec.every && known.spec.from === spec.from;
  return { ...spec, anchor: spec.from ?? (keeps ? known.spec.anchor : undefined) ?? now };
}

/** The next tick of a schedule that is written. It never goes back. */
export function nextOf(spec: Spec, known: StoredSchedule | undefined, now: number): Slot | undefined {
  if (spec.paused) return undefined;
  if (known && spec.limit !== undefined && known.made >= spec.limit) return undefined;
  if (known?.slot && !known.spec.paused && timingOf(known.spec) === timingOf(spec)) return known.slot;
  // A tick that is due, and that no worker has come to yet, is not lost if the new times have it, too.
  const due = known?.slot && known.slot.time <= now ? known.slot.time - 1 : now;
  return nextSlot(spec, Math.max(due, known?.previous ?? due));
}

/** Whether two specs say the same. */
export function isSame(one: Spec, other: Spec): boolean {
  return canonical(one) === canonical(other);
}

function timingOf({ cron, seconds, timezone, every, anchor, from, until }: Timing): string {
  return canonical({ cron, seconds, timezone, every, anchor, from, until });
}

/** As JSON with the names in order: other programs may write them in another one. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(
          Object.entries(defined(inner)).toSorted(([one], [other]) => (one < other ? -1 : 1)),
        )
      : inner,
  );
}
