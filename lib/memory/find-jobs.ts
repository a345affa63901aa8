import type { FindQuery } from '../gearmonkey/features/views/view-store.js';
import type { MemoryFunction } from './memory-function.js';
import { LISTED } from './memory-queues.js';

/** The ids of the jobs that a query looks for, in its order. */
export function findIds(of: MemoryFunction, { by, text, newest }: FindQuery, now: number): string[] {
  const ids = by === 'tag' ? of.jobs.tagged(text) : by === 'key' ? idsOfKey(of, text, now) : [text];
  const there = ids.filter((id) => of.jobs.has(id));
  return there.sort((a, b) => (newest ? Number(b) - Number(a) : Number(a) - Number(b)));
}

/** The jobs of a key of the limit that have not ended, and the last one with this unique key. */
function idsOfKey(of: MemoryFunction, key: string, now: number): string[] {
  of.limits.pass(now);
  const limited = [...LISTED.flatMap((queue) => of.limits.idsIn(queue)), ...of.limits.idsIn('scheduled')];
  const open = [...limited, ...of.leases.ids].filter((id) => of.jobs.text(id, 'key') === key);
  const unique = of.unique.idOf(key);
  return [...new Set(unique === undefined ? open : [...open, unique])];
}
