import { relative } from 'node:path';
import type { Verdict } from './check.js';
import type { Digest } from './digest.job.js';
import { formatBytes, formatCount, formatTable, shorten } from './format.js';
import type { Finished } from './run-jobs.js';
import type { Skipped } from './walk.js';

const TOP = 5;
const MAX_LISTED = 5;

export interface Result {
  folder: string;
  finished: readonly Finished[];
  verdicts: ReadonlyMap<Finished, Verdict>;
  skipped: readonly Skipped[];
  seconds: number;
}

type Done = Finished & { outcome: Digest };

/** The final report of the demo. */
export function report({ folder, finished, verdicts, skipped, seconds }: Result): string {
  const done = finished.filter((job): job is Done => !(job.outcome instanceof Error));
  const listed = (title: string, verdict: Verdict) =>
    list(
      title,
      finished.filter((job) => verdicts.get(job) === verdict).map((job) => describe(folder, job)),
    );
  return [
    table(
      'Slowest',
      folder,
      top(done, ({ outcome }) => outcome.ms),
    ),
    table(
      'Largest',
      folder,
      top(done, ({ outcome }) => outcome.bytes),
    ),
    [throughput(done, seconds), workers(done)].join('\n'),
    listed('Not readable, neither for the job nor directly:', 'unreadable'),
    listed('Changed after their job, so not comparable:', 'changed'),
    listed('DIFFERENT from the direct computation:', 'differs'),
    list(
      'Passed over:',
      skipped.map(({ path, reason }) => `${relative(folder, path) || '.'}: ${reason}`),
    ),
    conclusion(finished, verdicts),
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

/** Whether all results agree and there was at least one. */
export function allAgree(verdicts: ReadonlyMap<Finished, Verdict>): boolean {
  const found = new Set(verdicts.values());
  return found.has('agrees') && !found.has('differs');
}

function top(done: readonly Done[], measure: (job: Done) => number): Done[] {
  return done.toSorted((one, other) => measure(other) - measure(one)).slice(0, TOP);
}

function table(title: string, folder: string, jobs: readonly Done[]): string {
  return formatTable(
    [title, 'size', 'lines', 'gzip', 'time', 'sha-256'],
    jobs.map(({ path, outcome: { bytes, lines, gzipRatio, ms, sha256 } }) => [
      shorten(relative(folder, path)),
      formatBytes(bytes),
      formatCount(lines),
      `${gzipRatio.toFixed(1)}x`,
      `${ms.toFixed(0)} ms`,
      `${sha256.slice(0, 12)}…`,
    ]),
  );
}

function throughput(done: readonly Done[], seconds: number): string {
  const bytes = done.reduce((sum, { outcome }) => sum + outcome.bytes, 0);
  const jobs = Math.round(done.length / seconds);
  return `  ${formatCount(done.length)} jobs, ${formatBytes(bytes)} in ${seconds.toFixed(1)} s: ${formatCount(jobs)} jobs/s, ${formatBytes(bytes / seconds)}/s`;
}

/** The share of each process, if there were several. */
function workers(done: readonly Done[]): string {
  const jobs = new Map<number, number>();
  for (const { outcome } of done) jobs.set(outcome.pid, (jobs.get(outcome.pid) ?? 0) + 1);
  const shares = [...jobs].map(([pid, count]) => `process ${pid} ${formatCount(count)}`);
  return `  run by ${jobs.has(process.pid) ? 'this process' : shares.join(', ')}`;
}

function conclusion(finished: readonly Finished[], verdicts: ReadonlyMap<Finished, Verdict>): string {
  const agreed = [...verdicts.values()].filter((verdict) => verdict === 'agrees').length;
  const count = `${formatCount(agreed)} of ${formatCount(finished.length)}`;
  return allAgree(verdicts)
    ? `  OK: SHA-256, size and lines of ${count} files agree with a direct computation`
    : `  FAILED: only ${count} files agree with a direct computation`;
}

function describe(folder: string, { path, outcome }: Finished): string {
  const file = relative(folder, path);
  return outcome instanceof Error ? `${file}: ${outcome.error.message}` : file;
}

function list(title: string, lines: readonly string[]): string {
  if (lines.length === 0) return '';
  const more = lines.length > MAX_LISTED ? [`… and ${formatCount(lines.length - MAX_LISTED)} more`] : [];
  return [`  ${title}`, ...[...lines.slice(0, MAX_LISTED), ...more].map((line) => `    ${line}`)].join('\n');
}
