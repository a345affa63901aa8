import type { Agenda } from './agenda.js';
import type { LimitedKey } from './limited-key.js';
import { LISTED, type Listed, type WaitingId } from './memory-queues.js';
import type { Turns } from './turns.js';

/** What a function knows of its keys. */
export interface WaitingKeys {
  readonly keys: Iterable<readonly [string, LimitedKey]>;
  readonly keyOf: ReadonlyMap<string, LimitedKey>;
  readonly turns: Turns;
  /** Scheduled and retrying jobs. */
  readonly due: Agenda<string>;
  /** The time before which a key is held or full by its rate, in ms since 1970. */
  fullUntil(key: string): number;
}

/** Jobs with a key that wait: scheduled and retrying ones, then the others, of which keys take turns within a priority. */
export function* waitingJobs(known: WaitingKeys, now: number): Generator<WaitingId> {
  for (const { value: id, at } of known.due) {
    const key = known.keyOf.get(id);
    yield { id, due: key ? Math.max(at, blockedUntil(key, id, known)) : at };
  }
  for (const queue of LISTED)
    for (const [key, id] of inTurn(queue, known)) {
      const due = blockedUntil(key, id, known);
      yield { id, due: due > now ? due : 0 };
    }
}

/** The first job of each key, then the second of each. Keys that are full come last. */
function* inTurn(queue: Listed, { turns, keys }: WaitingKeys): Generator<[LimitedKey, string]> {
  const all = [...new Set([...turns.keys(queue), ...Array.from(keys, ([, key]) => key)])];
  const lines = all.map((key): [LimitedKey, string[]] => [key, [...key.line(queue)]]);
  const longest = Math.max(0, ...lines.map(([, line]) => line.length));
  for (let place = 0; place < longest; place++)
    for (const [key, line] of lines) {
      const id = line[place];
      if (id !== undefined) yield [key, id];
    }
}

/** Until when the job can't start for a reason that passes with time. */
function blockedUntil(
  { name, holder, later }: LimitedKey,
  id: string,
  { due, fullUntil }: WaitingKeys,
): number {
  const isHeld = holder !== undefined && holder !== id && later.has(holder);
  return Math.max(fullUntil(name), isHeld ? (due.timeOf(holder) ?? 0) : 0);
}
