import { isFinal } from './fields.js';
import { keyOf, type History } from './history.js';
import { INVARIANT_NAMES } from './checker.js';
import { recoveriesOf, resumeTimes, spreadOf, type Recovery, type Spread } from './recovery.js';
import type { RunResult } from './run.js';
import { FAULT_KINDS, toLine } from './schedule.js';

/** Of each invariant. */
const MAX_SHOWN = 6;

/** The figures of a run. */
export interface Summary {
  readonly seed: number;
  readonly lease: number;
  readonly faults: Readonly<Record<string, number>>;
  readonly outcomes: Readonly<Record<string, number>>;
  /** ms from a worker's SIGKILL to the next start of a job that it ran, by function. */
  readonly recovery: Readonly<Record<string, Spread>>;
  /** ms from a killed server's return to the next start of any job. */
  readonly resume: Spread;
  readonly violations: Readonly<Record<string, number>>;
}

export function summarize({ seed, injected, history, violations }: RunResult): Summary {
  const count = (list: readonly { kind?: string; invariant?: string }[], key: string) =>
    list.filter(({ kind, invariant }) => (kind ?? invariant) === key).length;
  return {
    seed,
    lease: history.lease,
    faults: Object.fromEntries(FAULT_KINDS.map((kind) => [kind, count(injected, kind)])),
    outcomes: outcomesOf(history),
    recovery: recoverySpreads(recoveriesOf(injected, history.starts, history.ends)),
    resume: spreadOf(resumeTimes(injected, history.starts)),
    violations: Object.fromEntries(INVARIANT_NAMES.map((name) => [name, count(violations, name)])),
  };
}

function retriesOf({ written }: History): number {
  return [...written.values()].reduce((sum, { retries = 0 }) => sum + retries, 0);
}

function discardsOf({ written }: History): number {
  return [...written.values()].filter(({ deleted }) => deleted).length;
}

/** Blocking jobs apart: there is one slot a worker, and a worker that runs one claims nothing. */
function recoverySpreads(recoveries: readonly Recovery[]): Record<string, Spread> {
  const functions = [...new Set(recoveries.map(({ fn }) => fn))].sort();
  return Object.fromEntries(
    functions.map((fn) => [fn, spreadOf(recoveries.filter((one) => one.fn === fn).map(({ ms }) => ms))]),
  );
}

function outcomesOf(history: History): Record<string, number> {
  const { enqueued, unsure, readings, starts, finishes, cancels, calls, plain, limited } = history;
  const jobs = [...readings.values()].map(({ fields }) => fields);
  const open = [...readings].flatMap(([name, { fields }]) => (isFinal(fields) ? [] : [name]));
  const known = new Set(enqueued.map(keyOf));
  const having = (status: string, code = '') =>
    jobs.filter((job) => job['status'] === status && (job['error'] ?? '').includes(code)).length;
  return {
    'jobs stored': jobs.length,
    'enqueues acknowledged': enqueued.length,
    'enqueues not acknowledged': unsure.length,
    'ended as success': having('success'),
    'ended as error': having('error'),
    'of these timed out': having('error', 'JOB_TIMEOUT'),
    'of these cancelled': having('error', 'JOB_CANCELLED'),
    'of these without their signal': having('error', 'SIGNAL_TIMEOUT'),
    'of these expired': having('error', 'JOB_EXPIRED'),
    'claims of jobs with a limit': limited.claims.length,
    'of these stalled too often': having('error', 'JOB_STALLED'),
    "not ended, lost with a plain worker's reply": open.filter((name) => known.has(name)).length,
    'not ended, half created by a plain client': open.filter((name) => !known.has(name)).length,
    'handlers started': starts.length,
    'of these when a later claim had begun': lateStarts(starts),
    'jobs that lost a worker': jobs.filter((job) => Number(job['stalls'] ?? 0) > 0).length,
    'finishes heard': finishes.length,
    'calls that waited for their output': calls.length,
    'of these without it: not enqueued, or given up': calls.filter(({ got }) => got === undefined).length,
    'calls of cancel': cancels.length,
    'takes of plain workers in doubt': [...plain.takes.values()].reduce((sum, takes) => sum + takes, 0),
    'retries of failed jobs, by an operator': retriesOf(history),
    'failed jobs that it discarded': discardsOf(history),
    'counted as done in statistics': [...(history.statistics?.counted.values() ?? [])].reduce(
      (sum, { done }) => sum + done,
      0,
    ),
    'steps recorded': history.recorded.length,
    'steps that began and were not': history.steps.length - history.recorded.length,
    'calls that read during faults': history.operator?.reads ?? 0,
  };
}

/** A worker that was stopped or blocked begins what it had claimed before: nothing it does will count. */
function lateStarts(starts: History['starts']): number {
  const newest = new Map<string, number>();
  const inTime = [...starts].sort((a, b) => a.at - b.at);
  return inTime.filter((start) => {
    const known = newest.get(keyOf(start)) ?? 0;
    newest.set(keyOf(start), Math.max(known, start.token));
    return start.token < known;
  }).length;
}

/** The report as text; where something was violated, with all that is needed to look for it. */
export function toText(result: RunResult): string {
  const { faults, outcomes, recovery, resume, violations, seed, lease } = summarize(result);
  const spread = ({ count, median, max }: Spread) =>
    `median ${median} ms, at most ${max} ms, ${count} measured`;
  return [
    `seed ${seed}, leases of ${lease} ms`,
    ...table('fault', faults),
    ...table('outcome', outcomes),
    'SIGKILL of a worker → its job starts again:',
    ...Object.entries(recovery).map(([fn, times]) => `  ${fn.padEnd(14)}${spread(times)}`),
    `server back → next job starts: ${spread(resume)}`,
    ...table('invariant violated', violations),
    'The row of docs/notes/faults.md:',
    documentRow(result),
    '',
    ...details(result),
  ].join('\n');
}

/** Run, faults, jobs, calls, success, error, timed out and cancelled, lost a worker, violations. */
function documentRow(result: RunResult): string {
  const { seed, duration, injected, violations } = result;
  const { outcomes } = summarize(result);
  const figure = (...names: string[]) =>
    names.map((name) => (outcomes[name] ?? 0).toLocaleString('en')).join(', ');
  const length = duration < 60_000 ? 'short' : `${Math.round(duration / 60_000)} min`;
  const cells = [
    `${length}, seed ${seed}`,
    injected.length.toLocaleString('en'),
    figure('jobs stored'),
    figure('calls that waited for their output'),
    figure('ended as success'),
    figure('ended as error'),
    figure('of these timed out', 'of these cancelled'),
    figure('jobs that lost a worker'),
    violations.length.toLocaleString('en'),
  ];
  return `| ${cells.join(' | ')} |`;
}

function table(title: string, rows: Readonly<Record<string, number>>): string[] {
  const width = Math.max(...Object.keys(rows).map((key) => key.length), title.length);
  const body = Object.entries(rows).map(
    ([key, value]) => `  ${key.padEnd(width)}  ${String(value).padStart(8)}`,
  );
  return ['', `  ${title}`, ...body, ''];
}

function details({ violations, faults, seed, folder }: RunResult): string[] {
  if (violations.length === 0)
    return [`No violation.${folder ? ` Histories and logs are in ${folder}` : ''}`];
  return [
    `${violations.length} violations; --seed ${seed} repeats the schedule; histories and logs are in ${folder}`,
    ...INVARIANT_NAMES.flatMap((name) =>
      violations.filter(({ invariant }) => invariant === name).slice(0, MAX_SHOWN),
    ).map(({ invariant, subject, detail }) => `  ${invariant}: ${subject}: ${detail}`),
    'Schedule:',
    ...faults.map(toLine),
  ];
}
