import { codeOf, isFinal, isStalled, nameOf, parse } from './fields.js';
import { keyOf, type Fields, type History } from './history.js';
import { found, type Violation } from './violation.js';

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

/** No job of a flow begins before all those have ended that it waits for. */
export function* parentsEndFirst(history: History): Iterable<Violation> {
  const jobs = byName(history);
  for (const start of history.starts) {
    const input = inputOf(history.readings.get(keyOf(start))?.fields);
    for (const parent of input?.after ?? []) {
      const { finished, status } = jobs.get(parent) ?? {};
      if (finished === undefined || Number(finished) > start.at + TOLERANCE_MS)
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

/** A flow counts each of its jobs once. */
export function* flowsCount(history: History): Iterable<Violation> {
  const jobs = byName(history);
  for (const { names, done, failed, total, code, ...flow } of history.flows) {
    const good = names.filter((name) => jobs.get(name)?.['status'] === 'success').length;
    if (code !== undefined) yield found(flow, `its progress ended as ${code}`);
    else if (total !== names.length || done !== good || failed !== names.length - good)
      yield found(
        flow,
        `it says ${done} and ${failed} of ${total}, but ${good} of ${names.length} succeeded`,
      );
  }
}
