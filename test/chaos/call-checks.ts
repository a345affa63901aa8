import { isFinal, nameOf } from './fields.js';
import { found, hasMissed, upBetween, type Violation } from './violation.js';
import type { Fields, History } from './history.js';

/** Milliseconds: what callers are patient for, and what a busy machine may add. */
const PATIENCE_MS = 60_000;
const SLACK_MS = 15_000;

/** Thousands may wait at once: each for its own job, and none longer than it said. */
export function* callsAnswer({ calls, readings, lease, away }: History): Iterable<Violation> {
  const jobs = new Map<string | undefined, Fields>();
  for (const { fields } of readings.values()) jobs.set(nameOf(fields), fields);
  for (const { n, got, code, took, starved = 0, at } of calls) {
    const job = jobs.get(n);
    if (got !== undefined && got !== n) yield found(n, `the call got the output of ${got}`);
    if (took - starved > PATIENCE_MS + SLACK_MS)
      yield found(n, `the call took ${took} ms, ${starved} of them without a processor`);
    const late = isFinal(job) ? upBetween(Number(job?.['finished']), at, away) - starved : 0;
    if (code === 'WAIT_TIMEOUT' && hasMissed(late, lease))
      yield found(n, `the call gave up ${late} ms after its job had finished`);
    else if (code !== undefined && !mayBe(code, job))
      yield found(n, `the call ended as ${code}, its job as ${job?.['status']}`);
  }
}

function mayBe(code: string, job: Fields | undefined): boolean {
  if (code === 'JOB_FAILED') return job?.['status'] === 'error';
  return code === 'WAIT_TIMEOUT' || code === 'ENQUEUE_TIMEOUT';
}
