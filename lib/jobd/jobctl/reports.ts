import { defined } from '../../job/defined.js';
import type { DaemonStatus, TargetStatus } from '../vocabulary/operations.js';
import type { ListedWorker } from '../master/worker-states.js';
import type { ManualReply } from '../protocol/job-results.js';
import { renderTable } from './table.js';

/** The result of a command. */
export interface Report {
  /** The reply's data, for `--json`. */
  readonly data: unknown;
  readonly text: string;
  /** The request was served, but not all of it succeeded. */
  readonly isPartial?: boolean;
}

/** A worker's `status`, or a master's. */
export interface StatusReply {
  readonly targets?: DaemonStatus['targets'];
  readonly jobPromisesCount?: number;
  readonly memoryUsage: Readonly<Record<string, number>>;
  readonly workers?: readonly ListedWorker[];
}

export function targetsReport({ targets = {} }: StatusReply): Report {
  const rows = Object.entries(targets).map(([target, status]) => [target, ...cellsOf(status)]);
  return { data: targets, text: renderTable(['target', 'concurrency', 'length', 'paused'], rows) };
}

export function workersReport({ workers = [] }: StatusReply): Report {
  const columns = ['worker', 'targets', 'concurrency', 'length', 'paused'];
  return { data: workers, text: renderTable(columns, workers.map(workerCells)) };
}

function workerCells({ name, remoteAddr, targets, workerStatus, workerStatusError }: ListedWorker): string[] {
  const title = `${name}\n(${remoteAddr})`;
  const known = (workerStatus as DaemonStatus | undefined)?.targets;
  if (!known || workerStatusError !== undefined)
    return [title, targets.join('\n'), workerStatusError ?? 'unknown', '', ''];
  const cells = Object.values(known).map(cellsOf);
  return [
    title,
    Object.keys(known).join('\n'),
    ...[0, 1, 2].map((i) => cells.map((row) => row[i]).join('\n')),
  ];
}

function cellsOf({ concurrency, length, paused }: TargetStatus): string[] {
  return [String(concurrency), String(length), paused ? 'yes' : 'no'];
}

export function memoryReport({ memoryUsage, jobPromisesCount }: StatusReply): Report {
  const data = defined({
    ...memoryUsage,
    pendingJobPromises: jobPromisesCount,
  });
  const rows = Object.entries(data).map(([what, value]) => [what, String(value)]);
  return { data, text: renderTable(['what', 'value'], rows) };
}

export function manualReport(reply: ManualReply): Report {
  const { jobs = {}, errors = {} } = reply;
  const ran = Object.entries(jobs).map(([id, { result, code, signal }]) => [
    id,
    result,
    String(code ?? ''),
    signal ?? '',
    '',
  ]);
  const refused = Object.entries(errors).map(([id, error]) => [id, 'not run', '', '', error]);
  const isPartial = refused.length > 0 || Object.values(jobs).some(({ result }) => result !== 'ok');
  const text = renderTable(['job', 'result', 'code', 'signal', 'error'], [...ran, ...refused]);
  return { data: reply, text, isPartial };
}

export function signalReport(reply: Readonly<Record<string, unknown>>): Report {
  const { errors = {}, ...delivered } = reply as Record<string, unknown> & {
    errors?: Record<string, string>;
  };
  const rows = [
    ...Object.entries(delivered).map(([id, reached]) => [id, reached === true ? 'yes' : 'no', '']),
    ...Object.entries(errors).map(([id, error]) => [id, 'no', error]),
  ];
  const isPartial = rows.some(([, reached]) => reached !== 'yes');
  return { data: reply, text: renderTable(['job', 'delivered', 'error'], rows), isPartial };
}
