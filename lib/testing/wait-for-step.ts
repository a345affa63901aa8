import { functionName, type FunctionRef } from '../job/job-definition.js';
import type { Changes } from './changes.js';
import type { EnqueuedJobs } from './enqueued-jobs.js';
import type { ExpectedJob } from './expected-job.js';
import type { JobRecord, JobStep } from './job-records.js';
import { RealTime } from './real-time.js';
import { JobTestTimeoutError, JobTestingError } from './testing-errors.js';

/** What is waited for. */
export interface AwaitedStep {
  readonly ref: FunctionRef;
  readonly expected: ExpectedJob;
  readonly step: JobStep;
  /** Milliseconds of real time. */
  readonly timeout: number;
}

/** The first job that has come so far, now or before. @throws JobTestTimeoutError, JobTestingError */
export async function waitForStep(
  jobs: EnqueuedJobs,
  { changes, hasClosed }: { readonly changes: Changes; readonly hasClosed: () => boolean },
  awaited: AwaitedStep,
): Promise<JobRecord> {
  const { ref, expected, step, timeout } = awaited;
  const time = new RealTime(timeout);
  try {
    for (;;) {
      const seen = changes.version;
      const found = jobs.recordsOf(ref, expected).find(({ steps }) => steps.includes(step));
      if (found) return found;
      if (hasClosed()) throw new JobTestingError(`The app was closed before a job was ${step}.`);
      if (time.isOver) throw late(jobs, awaited);
      await Promise.race([changes.since(seen), time.over]);
    }
  } finally {
    time.clear();
  }
}

function late(jobs: EnqueuedJobs, { ref, expected, step, timeout }: AwaitedStep): JobTestTimeoutError {
  const fn = functionName(ref);
  const states = jobs
    .recordsOf(ref, expected)
    .map(({ id, steps }) => `${fn} ${id} is ${steps.at(-1) ?? '?'}`);
  const seen = states.length > 0 ? states.join(', ') : jobs.missing(ref, expected);
  return new JobTestTimeoutError(
    `No job of "${fn}" was ${step} within ${timeout} ms: ${seen}. In manual mode jobs run while drain(), advance() or perform() does.`,
    timeout,
  );
}
