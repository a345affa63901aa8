import { bare, codeOf, isFinal, isOfMark, isOurs, isStalled, kindOf, nameOf, parse } from './fields.js';
import { callsAnswer } from './call-checks.js';
import { oneOfItsKey } from './unique-checks.js';
import { keyOf, type Fields, type History, type JobName, type Reading } from './history.js';
import {
  doctorFindsNothing,
  listsHold,
  overviewIsTrue,
  pagesAreWhole,
  tagsFindJobs,
} from './index-checks.js';
import { flowsCount, flowsEndRight, parentsEndFirst } from './flow-checks.js';
import { expiredAreNotRun, handlersKeepLimits, limitsHold, strictOrderHolds } from './limit-checks.js';
import { mendedOnce, readersAreAnswered } from './mend-checks.js';
import { statisticsHold } from './statistics-checks.js';
import { recordedStepsRest, stepsGiveWhatWasRecorded, stepsRecordedOnce } from './step-checks.js';
import { found, hasMissed, upBetween, type Violation } from './violation.js';

type Check = (history: History) => Iterable<Violation>;

/** What must hold of every run, by name. */
const INVARIANTS: Readonly<Record<string, Check>> = {
  'every acknowledged job ends': everyJobEnds,
  'no job is created twice': createdOnce,
  'a unique key has one unfinished job': oneOfItsKey,
  'a job is completed once': completedOnce,
  'a final result stays': resultStays,
  'the accepted outcome is the one of its claim': outcomeOfItsClaim,
  'a claim is run once': claimRunsOnce,
  'attempts and stalls keep their bounds': bounded,
  'a job ends as its kind does': endsAsItsKind,
  'cancel tells the truth': cancelIsTrue,
  'a waiter learns the result': waitersLearn,
  'a waiter learns of no other job': waitersLearnOfTheirs,
  'a call gets its own output, or says why not': callsAnswer,
  'no id waits in two places': waitsOnce,
  'an enqueue answers by its deadline': enqueuesAnswer,
  'no limit is exceeded': limitsHold,
  'handlers keep limits': handlersKeepLimits,
  'strict order holds': strictOrderHolds,
  'an expired job is not run': expiredAreNotRun,
  'counts converge': countsConverge,
  'each ended job is in its list, and nothing else': listsHold,
  'pages have all jobs of a state': pagesAreWhole,
  'the overview counts the jobs': overviewIsTrue,
  'tags find their jobs': tagsFindJobs,
  'a recorded step does not run again': recordedStepsRest,
  'a step is recorded once': stepsRecordedOnce,
  'a step gives what was recorded': stepsGiveWhatWasRecorded,
  'a job of a flow begins behind its parents': parentsEndFirst,
  'a job of a flow ends as its parents say': flowsEndRight,
  'a flow counts each job once': flowsCount,
  'statistics count what happened': statisticsHold,
  'a retried job ends once more, a discarded one is gone': mendedOnce,
  'readers are answered': readersAreAnswered,
  'the doctor finds nothing': doctorFindsNothing,
  'nothing is left behind': nothingIsLeft,
  'no process crashes': noCrash,
};

export const INVARIANT_NAMES: readonly string[] = Object.keys(INVARIANTS);

/** Returns all violations of a history. */
export function check(history: History): Violation[] {
  return Object.entries(INVARIANTS).flatMap(([invariant, find]) =>
    [...find(history)].map((violation) => ({ ...violation, invariant })),
  );
}

/** Plain workers may lose a job with the reply that brought it: that many are theirs. */
function* everyJobEnds({ enqueued, readings, plain }: History): Iterable<Violation> {
  const excuses = new Map(plain.takes);
  const isExcused = ({ fn }: JobName) => {
    const left = excuses.get(fn) ?? 0;
    excuses.set(fn, left - 1);
    return left > 0;
  };
  for (const job of enqueued) {
    const fields = readings.get(keyOf(job))?.fields;
    if (isFinal(fields) || (fields && isExcused(job))) continue;
    yield found(job, fields ? `it is still ${fields['status']}: ${JSON.stringify(fields)}` : 'it is gone');
  }
  const known = new Set(enqueued.map(keyOf));
  for (const [key, { fields, ...job }] of readings) {
    // Without `created` a plain client made it: it may have given up before it queued the job.
    if (known.has(key) || isFinal(fields) || fields['created'] === undefined || isExcused(job)) continue;
    yield found(key, `no subscriber was told of it, and it is still ${fields['status']}`);
  }
}

function* createdOnce({ readings }: History): Iterable<Violation> {
  const ids = new Map<string, string>();
  for (const [key, { fields }] of readings) {
    const n = nameOf(fields);
    if (n === undefined) continue;
    const other = ids.get(n);
    if (other !== undefined) yield found(key, `it has the input of ${other}, ${n}`);
    ids.set(n, key);
  }
}

function* completedOnce({ written, finishes, plain }: History): Iterable<Violation> {
  for (const [key, { completions, retries = 0 }] of written) {
    if (completions > 1 + retries && !plain.repeated.has(key))
      yield found(key, `it was completed ${completions} times`);
  }
  const heard = new Map<string, number>();
  for (const finish of finishes) heard.set(keyOf(finish), (heard.get(keyOf(finish)) ?? 0) + 1);
  for (const [key, times] of heard) {
    if (times > 1 + (written.get(key)?.retries ?? 0) && !plain.repeated.has(key))
      yield found(key, `its finish was published ${times} times`);
  }
}

function* resultStays({
  firstReadings,
  readings,
  laterReadings,
  written,
  plain,
}: History): Iterable<Violation> {
  for (const [earlier, later] of [
    [firstReadings, readings],
    [readings, laterReadings],
  ] as const) {
    for (const [key, { fields }] of earlier) {
      const { retries = 0, deleted } = written.get(key) ?? {};
      if (earlier === firstReadings && (retries > 0 || deleted)) continue;
      const change = isFinal(fields) ? changeBetween(fields, later.get(key)) : undefined;
      if (change) yield found(key, change);
    }
  }
  for (const [key, { changes }] of written) {
    if (changes.length > 0 && !plain.repeated.has(key))
      yield found(key, `written when final: ${changes.join('; ')}`);
  }
}

function changeBetween(before: Fields, later: Reading | undefined): string | undefined {
  if (!later) return 'it is gone';
  const changed = ['status', 'output', 'error', 'finished', 'settled'].filter(
    (field) => before[field] !== later.fields[field],
  );
  return changed.length === 0
    ? undefined
    : changed.map((field) => `${field} was ${before[field]}, then ${later.fields[field]}`).join('; ');
}

function* outcomeOfItsClaim({ readings }: History): Iterable<Violation> {
  for (const [key, { fields }] of readings) {
    if (fields['status'] !== 'success' || !isOurs(fields)) continue;
    const output = parse(fields['output']) as { token?: number } | string | null | undefined;
    if (typeof output !== 'object') continue;
    if (String(output?.token) !== fields['settled'])
      yield found(key, `claim ${fields['settled']} was settled with the output of claim ${output?.token}`);
  }
}

function* claimRunsOnce({ starts }: History): Iterable<Violation> {
  const seen = new Map<string, string>();
  for (const start of starts) {
    // What is no number a hostile client made up, and makes again.
    if (!/^\d+$/.test(start.id)) continue;
    const claim = `${keyOf(start)}:${start.token}`;
    const other = seen.get(claim);
    if (other !== undefined) yield found(claim, `run by ${other} and by ${start.process}`);
    seen.set(claim, start.process);
  }
}

/**
 * How often jobs had lost their workers, as these were told. A failover takes the last loss back, but not the outcome of the
 * claim behind it: who decided whether there is another attempt did count it.
 */
function knownStalls({ starts, readings }: History): Map<string, number> {
  const known = new Map<string, number>();
  for (const start of starts) {
    const key = keyOf(start);
    if (!isOfMark(start, readings.get(key)?.fields)) continue;
    known.set(key, Math.max(start.stalls ?? 0, known.get(key) ?? 0));
  }
  return known;
}

function* bounded(history: History): Iterable<Violation> {
  const { readings, maxStalls, attempts } = history;
  const known = history.failedOver === undefined ? new Map<string, number>() : knownStalls(history);
  for (const [key, { fields }] of readings) {
    const stalls = Number(fields['stalls'] ?? 0);
    const tried = Number(fields['attempts'] ?? 0) - Math.max(stalls, known.get(key) ?? 0);
    const limit = attempts[kindOf(fields)] ?? 1;
    if (stalls > maxStalls + 1 || stalls > maxStalls !== (isFinal(fields) && isStalled(fields)))
      yield found(
        key,
        `${stalls} stalls, at most ${maxStalls}, and it is ${fields['status']}: ${fields['output']}`,
      );
    if (tried > limit) yield found(key, `tried ${tried} times, at most ${limit}`);
  }
}

/** What only a timeout or a cancel may end as. */
const ASKED_FOR = ['JOB_TIMEOUT', 'JOB_CANCELLED'];
const padOf = (json?: string) => (parse(json) as { pad?: string } | undefined)?.pad ?? '';

const EXPECTED: Readonly<Record<string, (fields: Fields) => boolean>> = {
  failing: ({ output }) => output === 'failing as told',
  racing: (fields) => fields['status'] === 'success' || codeOf(fields) === 'JOB_TIMEOUT',
  hanging: (fields) => codeOf(fields) === 'JOB_TIMEOUT',
  cancelled: (fields) => fields['status'] === 'success' || codeOf(fields) === 'JOB_CANCELLED',
  expiring: (fields) => fields['status'] === 'success' || codeOf(fields) === 'JOB_EXPIRED',
  waiting: (fields) => fields['status'] === 'success' || codeOf(fields) === 'SIGNAL_TIMEOUT',
  hostile: (fields) => fields['status'] === 'error' && !ASKED_FOR.includes(codeOf(fields) ?? ''),
  // Its parents say how: flow-checks.ts.
  flow: () => true,
  // An operator may end it, or one that it waits for.
  opened: () => true,
  mended: ({ status, output }) => status === 'success' || output === 'mended as told',
  large: ({ status, input, output }) => status === 'success' && padOf(input) === padOf(output),
  shared: ({ status, input = '', output = '' }) =>
    status === 'success' && bare(output) === bare(input).toUpperCase(),
};

function* endsAsItsKind({ readings }: History): Iterable<Violation> {
  for (const [key, { fields }] of readings) {
    if (!isFinal(fields) || isStalled(fields)) continue;
    const kind = kindOf(fields);
    const expected = EXPECTED[kind] ?? (({ status }: Fields) => status === 'success');
    if (!expected(fields))
      yield found(key, `${kind}, but it ended as ${fields['status']}: ${fields['output']}`);
  }
}

function* cancelIsTrue({ cancels, readings }: History): Iterable<Violation> {
  for (const cancel of cancels) {
    const fields = readings.get(keyOf(cancel))?.fields ?? {};
    if (isAnother(cancel, fields)) continue;
    const cancelled = codeOf(fields) === 'JOB_CANCELLED';
    if (typeof cancel.told === 'boolean' && cancel.told !== cancelled)
      yield found(
        cancel,
        `cancel said ${cancel.told}, but it ended as ${fields['status']}: ${fields['output']}`,
      );
  }
}

/** After a failover another may have the id. */
function isAnother({ of }: { readonly of?: string }, fields: Fields): boolean {
  const n = nameOf(fields);
  return of !== undefined && n !== undefined && n !== of;
}

function* waitersLearnOfTheirs({ results }: History): Iterable<Violation> {
  for (const result of results) {
    const { of, n } = result;
    if (of !== undefined && n !== undefined && n !== of)
      yield found(result, `who waited for ${of} got the result of ${n}`);
  }
}

/** A wait that was given up long after the finish was missed. */
function* waitersLearn({ results, readings, lease, away }: History): Iterable<Violation> {
  for (const result of results) {
    const fields = readings.get(keyOf(result))?.fields;
    if (fields && isAnother(result, fields)) continue;
    const n = fields && nameOf(fields);
    if (result.n !== undefined && result.n !== n)
      yield found(result, `the waiter got the result of ${result.n}`);
    const late =
      upBetween(Number(fields?.['finished'] ?? result.at), result.at, away) - (result.starved ?? 0);
    if (result.code === 'WAIT_TIMEOUT' && hasMissed(late, lease))
      yield found(result, `the waiter gave up ${late} ms after it had finished`);
  }
}

function* enqueuesAnswer({ enqueued, unsure, enqueueTimeout }: History): Iterable<Violation> {
  for (const { fn, n = '', took, starved = 0 } of [...enqueued, ...unsure]) {
    if (took - starved > 2 * enqueueTimeout)
      yield found(`${fn} ${n}`, `it took ${took} ms, ${starved} of them without a processor`);
  }
}

function* countsConverge({ counts }: History): Iterable<Violation> {
  for (const { fn, expected, seen, when } of counts) {
    if (seen !== expected) yield found(`count:${fn}`, `it is ${seen} ${when}, with ${expected} workers`);
  }
}

function* waitsOnce({ doubled = [] }: History): Iterable<Violation> {
  for (const seen of doubled) yield found(seen, 'it was in two places at once');
}

function* nothingIsLeft({ leftovers }: History): Iterable<Violation> {
  for (const key of leftovers) yield found(key, 'it is still there after the last worker has stopped');
}

function* noCrash({ crashes }: History): Iterable<Violation> {
  for (const crash of crashes) yield found('process', crash);
}
