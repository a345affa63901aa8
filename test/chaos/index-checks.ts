import type { FinalState } from '../../lib/job/job-state.js';
import { codeOf } from './fields.js';
import type { Fields, History, Reading } from './history.js';
import { ENDED_STATES, type FunctionIndexes } from './indexes.js';
import { HANDLED, ODD, TAG } from './jobs.mjs';
import { found, type Violation } from './violation.js';

const CANCELLED = new Set(['JOB_CANCELLED', 'JOB_DRAINED']);
const WAITING_STATES = ['waiting', 'scheduled', 'retrying', 'running'] as const;

/** A hostile client makes up jobs with such ids, and deletes their hashes. */
const isMadeUp = (fn: string, id: string) => fn === ODD && !/^\d+$/.test(id);

/** The list that a job has to be in: none if no script of ours ended it. */
function endedState(fields: Fields): FinalState | undefined {
  if (fields['finished'] === undefined) return undefined;
  if (fields['status'] === 'success') return 'succeeded';
  return CANCELLED.has(codeOf(fields) ?? '') ? 'cancelled' : 'failed';
}

/** By function and state, when each job ended. The server's log is durable, so none is excused. */
function endedJobs(readings: ReadonlyMap<string, Reading>): Map<string, Map<string, number>> {
  const all = new Map<string, Map<string, number>>();
  for (const { fn, id, fields } of readings.values()) {
    const state = endedState(fields);
    if (state === undefined) continue;
    const list = `${fn} ${state}`;
    const jobs = all.get(list) ?? new Map<string, number>();
    all.set(list, jobs.set(id, Number(fields['finished'])));
  }
  return all;
}

/** Each ended job is in the list of its state with the time of its end, and nothing else is in a list or queue. */
export function* listsHold({ indexes, laterReadings }: History): Iterable<Violation> {
  if (!indexes) return;
  const jobs = endedJobs(laterReadings);
  for (const [fn, { ended, queued }] of indexes.byFunction) {
    for (const state of ENDED_STATES) {
      const expected = new Map(jobs.get(`${fn} ${state}`));
      for (const [id, score] of ended[state]) {
        const finished = expected.get(id);
        expected.delete(id);
        if (finished === undefined && !isMadeUp(fn, id))
          yield found({ fn, id }, `it is listed as ${state}: ${describe(laterReadings, fn, id)}`);
        else if (finished !== undefined && finished !== score)
          yield found({ fn, id }, `it ended at ${finished}, and is listed as ${state} at ${score}`);
      }
      for (const id of expected.keys()) yield found({ fn, id }, `it is ${state}, and not listed so`);
    }
    const seen = new Set<string>();
    for (const id of queued) {
      if (seen.has(id)) yield found({ fn, id }, 'it is queued twice');
      seen.add(id);
      const state = endedState(laterReadings.get(`${fn}#${id}`)?.fields ?? {});
      if (state !== undefined) yield found({ fn, id }, `it is queued, and ${state}`);
    }
  }
}

function describe(readings: ReadonlyMap<string, Reading>, fn: string, id: string): string {
  return JSON.stringify(readings.get(`${fn}#${id}`)?.fields ?? 'it is gone');
}

/** All pages of a state together are its jobs, in the order of their ends, forwards and backwards. */
export function* pagesAreWhole({ indexes, laterReadings }: History): Iterable<Violation> {
  if (!indexes) return;
  const jobs = endedJobs(laterReadings);
  for (const [fn, { ended, listed }] of indexes.byFunction) {
    for (const state of ENDED_STATES) {
      const { newest, oldest, total } = listed[state];
      const expected = jobs.get(`${fn} ${state}`) ?? new Map<string, number>();
      const subject = `${fn} ${state}`;
      const rest = (ids: readonly string[]) => ids.filter((id) => !isMadeUp(fn, id));
      const turned = rest(oldest).toReversed();
      if (turned.join() !== rest(newest).join())
        yield found(subject, 'pages from the oldest are not those from the newest, turned round');
      yield* samePages(subject, rest(newest), expected);
      if (total !== ended[state].length)
        yield found(subject, `pages have a total of ${total}, the list ${ended[state].length}`);
    }
  }
}

/** Each job with the tag is found by it, whatever became of it, and no other. */
export function* tagsFindJobs({ indexes, laterReadings }: History): Iterable<Violation> {
  if (!indexes) return;
  for (const [fn, { tagged }] of indexes.byFunction) {
    const shown = new Set(tagged);
    if (shown.size !== tagged.length) yield found(fn, 'jobs are found twice by their tag');
    for (const reading of laterReadings.values()) {
      if (reading.fn !== fn) continue;
      const hasTag = (reading.fields['options'] ?? '').includes(`"${TAG}"`);
      if (shown.delete(reading.id) !== hasTag)
        yield found(
          reading,
          hasTag ? 'it is not found by its tag' : 'it is found by a tag that it does not have',
        );
    }
    for (const id of shown) yield found({ fn, id }, 'it is found by a tag, and is gone');
  }
}

function* samePages(
  subject: string,
  ids: readonly string[],
  expected: ReadonlyMap<string, number>,
): Iterable<Violation> {
  const shown = new Set(ids);
  if (shown.size !== ids.length) yield found(subject, `pages have ${ids.length - shown.size} jobs twice`);
  const [missing, more] = [
    [...expected.keys()].filter((id) => !shown.has(id)),
    ids.filter((id) => !expected.has(id)),
  ];
  if (missing.length > 0) yield found(subject, `pages lack ${missing.slice(0, 5).join(', ')}`);
  if (more.length > 0) yield found(subject, `pages have more: ${more.slice(0, 5).join(', ')}`);
  const late = ids.find((id, i) => i > 0 && (expected.get(id) ?? 0) > (expected.get(ids[i - 1] ?? '') ?? 0));
  if (late !== undefined) yield found(subject, `job ${late} stands behind one that ended before it`);
}

/** The overview counts what the jobs' hashes and queues have. */
export function* overviewIsTrue({ indexes, laterReadings }: History): Iterable<Violation> {
  if (!indexes) return;
  const jobs = endedJobs(laterReadings);
  const known = new Map(indexes.overview.map((one) => [one.fn, one]));
  for (const fn of Object.keys(HANDLED)) {
    const [one, own] = [known.get(fn), indexes.byFunction.get(fn)];
    if (!indexes.functions.includes(fn)) yield found(fn, 'the index of functions lacks it');
    if (!one || !own) {
      yield found(fn, 'the overview lacks it');
      continue;
    }
    for (const state of ENDED_STATES) {
      const madeUp = own.ended[state].filter(([id]) => isMadeUp(fn, id)).length;
      const expected = (jobs.get(`${fn} ${state}`)?.size ?? 0) + madeUp;
      if (one[state] !== expected) yield found(fn, `${one[state]} are ${state}, and should be ${expected}`);
    }
    yield* nothingWaits(fn, own, one);
  }
}

function* nothingWaits(
  fn: string,
  { queued, listed }: FunctionIndexes,
  { waiting, scheduled, retrying, running }: NonNullable<History['indexes']>['overview'][number],
): Iterable<Violation> {
  const counted = waiting.high + waiting.normal + waiting.low + scheduled + retrying + running;
  if (counted !== queued.length) yield found(fn, `${counted} wait or run, and ${queued.length} are queued`);
  for (const state of WAITING_STATES) {
    const { newest } = listed[state];
    const ended = newest.filter((id) => !queued.includes(id));
    if (ended.length > 0)
      yield found(fn, `jobs are listed as ${state}, and in no queue: ${ended.join(', ')}`);
  }
}

/** Jobs that a plain worker lost with a reply are in no queue, as the doctor says. */
export function* doctorFindsNothing({ indexes, plain }: History): Iterable<Violation> {
  for (const { code, fn = '', title } of indexes?.findings ?? []) {
    if (code === 'WAITING_IN_NO_QUEUE' && (plain.takes.get(fn) ?? 0) > 0) continue;
    // Who deletes hashes leaves entries of them in lists.
    if (code === 'LISTED_WRONGLY' && fn === ODD) continue;
    yield found(`${code} ${fn}`, title);
  }
}
