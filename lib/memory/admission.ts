import { LimitFullError } from '../job/limit-errors.js';
import type { PlacedLimit } from '../gearmonkey/core/client/job-store.js';
import type { MemoryFunction } from './memory-function.js';

/** What has to be decided before jobs with keys are created. @throws LimitFullError if one of them is refused */
export function admit(
  target: MemoryFunction,
  fn: string,
  { rules, keys, onFull }: PlacedLimit,
  now: number,
): void {
  const { limits } = target;
  if (!limits.isKnown) limits.declare(rules, now);
  if (onFull !== 'refuse') return;
  const before = new Map<string, number>();
  for (const key of keys) {
    const others = before.get(key) ?? 0;
    if (limits.isFull(key, others, now)) throw new LimitFullError(fn, key, limits.fullUntil(key, now));
    before.set(key, others + 1);
  }
}

/** Cancels the jobs that the next one replaces, if its key is full. */
export function replace(
  target: MemoryFunction,
  key: string,
  which: PlacedLimit['replace'],
  now: number,
): void {
  const { limits } = target;
  if (!limits.isFull(key, 0, now)) return;
  const message = `cancelled: job ${target.nextId} replaced it`;
  const error = { name: 'JobCancelledError', code: 'JOB_CANCELLED', message };
  const replaced = limits.jobsOf(key, 'waiting');
  if (which === 'running') replaced.push(...limits.jobsOf(key, 'running'));
  for (const id of replaced) target.cancel(id, error, now);
}
