import { codeOf, isFinal, isOfMark, isStalled, nameOf, parse } from './fields.js';
import { keyOf, type Fields, type History, type Start } from './history.js';
import { found, hasMissed, upBetween, type Violation } from './violation.js';

interface FlowInput {
  readonly n: string;
  readonly kind: string;
  readonly after: readonly string[];
  readonly policy: string;
  readonly fails: boolean;
}

/** Clocks of one machine, in ms: `finished` is when the call that wrote it began. */
const TOLERANCE_MS = 2;

function inputOf(fields: Fields | undefined): FlowInput | undefined {
  const input = parse(fields?.['input']) as FlowInput | null | undefined;
  return input?.kind === 'flow' ? input : undefined;
}

/** Jobs of flows by their names. */
function byName({ readings }: History): Map<string, Fields> {
  return new Map(
    [...readings.values()].flatMap(({ fields }) =>
      inputOf(fields) ? [[nameOf(fields) ?? '', fields] as const] : [],
    ),
  );
}

/** When the handlers of jobs ended first, by their names. */
function firstEnds({ ends, readings }: History): Map<string, number> {
  const first = new Map<string, number>();
  for (const end of ends) {
    const fields = readings.get(keyOf(end))?.fields;
    const name = isOfMark(end, fields) ? nameOf(fields ?? {}) : undefined;
    if (name !== undefined) first.set(name, Math.min(end.at, first.get(name) ?? Infinity));
  }
  return first;
}

/** When each claim was begun last: twice if the failover took it back, and the new master gave it once more. */
function lastStarts({ starts }: History): Map<string, number> {
  const last = new Map<string, number>();
  for (const start of starts) last.set(claimOf(start), Math.max(start.at, last.get(claimOf(start)) ?? 0));
  return last;
}

const claimOf = (start: Start) => `${keyOf(start)}:${start.token}`;

/**
 * No job of a flow begins before all those have ended that it waits for. A failover takes the last ends back, which are then
 * written again: of a job that the failed master gave, the handlers of its parents had ended, or those of their parents. A
 * process that was held up may begin such a job after the failover; the new master gives the same claim again.
 */
export function* parentsEndFirst(history: History): Iterable<Violation> {
  const jobs = byName(history);
  const { failedOver = 0 } = history;
  const ends = failedOver > 0 ? firstEnds(history) : new Map<string, number>();
  const last = failedOver > 0 ? lastStarts(history) : new Map<string, number>();
  const hadEnded = (name: string, at: number): boolean =>
    (ends.get(name) ?? Infinity) <= at + TOLERANCE_MS ||
    (!ends.has(name) && (inputOf(jobs.get(name))?.after ?? []).some((parent) => hadEnded(parent, at)));
  for (const start of history.starts) {
    const { fields } = history.readings.get(keyOf(start)) ?? {};
    const input = isOfMark(start, fields) ? inputOf(fields) : undefined;
    for (const parent of input?.after ?? []) {
      const { finished, status } = jobs.get(parent) ?? {};
      if (finished !== undefined && Number(finished) <= start.at + TOLERANCE_MS) continue;
      const isTakenBack = start.at <= failedOver || start.at < (last.get(claimOf(start)) ?? 0);
      if (!isTakenBack || !hadEnded(parent, start.at))
        yield found(start, `it began at ${start.at}, and ${parent} is ${status} since ${finished}`);
    }
  }
}

/** A job of a flow ends as its parents, its policy and its handler say, and has read their outputs. */
export function* flowsEndRight(history: History): Iterable<Violation> {
  const jobs = byName(history);
  for (const [key, { fields }] of history.readings) {
    const input = inputOf(fields);
    if (!input || !isFinal(fields) || isStalled(fields)) continue;
    const isDone = (name: string) => jobs.get(name)?.['status'] === 'success';
    const mayRun = input.policy === 'run' || input.after.every(isDone);
    const code = codeOf(fields);
    const asToldOf = mayRun
      ? input.fails === (fields['status'] === 'error') && code !== 'PARENT_FAILED'
      : code === 'PARENT_FAILED';
    if (!asToldOf)
      yield found(key, `may run: ${mayRun}, but it ended as ${fields['status']}: ${fields['output']}`);
    if (fields['status'] !== 'success') continue;
    const { parents } = (parse(fields['output']) ?? {}) as { parents?: readonly string[] };
    const expected = input.after.map((name) => (isDone(name) ? name : 'error'));
    if (JSON.stringify(parents?.toSorted()) !== JSON.stringify(expected.toSorted()))
      yield found(key, `it read ${JSON.stringify(parents)} of its parents`);
  }
}

/** A flow counts each of its jobs once. One that a failover has lost as a whole is judged with its jobs. */
export function* flowsCount(history: History): Iterable<Violation> {
  const jobs = byName(history);
  const isLost = (names: readonly string[]) =>
    history.failedOver !== undefined && !names.some((name) => jobs.has(name));
  for (const { names, done, failed, total, code, starved = 0, at, ...flow } of history.flows) {
    if (isLost(names)) continue;
    const ends = names.map((name) => Number(jobs.get(name)?.['finished'] ?? Infinity));
    // On a busy machine the jobs may take longer than who watches them.
    const late = upBetween(Math.max(...ends), at, history.away) - starved;
    if (code === 'WAIT_TIMEOUT' && !hasMissed(late, history.lease)) continue;
    const good = names.filter((name) => jobs.get(name)?.['status'] === 'success').length;
    if (code !== undefined) yield found(flow, `its progress ended as ${code}`);
    else if (total !== names.length || done !== good || failed !== names.length - good)
      yield found(
        flow,
        `it says ${done} and ${failed} of ${total}, but ${good} of ${names.length} succeeded`,
      );
  }
}
