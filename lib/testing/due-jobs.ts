import { runnableOf, waitingOf, type TestBackend, type WaitingJob } from './test-backend.js';

/** A waiting job and its function. */
export interface NamedJob extends WaitingJob {
  readonly fn: string;
}

type Allows = (fn: string, id: string) => boolean;

/** The waiting jobs of some functions. */
export async function waitingJobs(backend: TestBackend, functions: readonly string[]): Promise<NamedJob[]> {
  const all = await waitingOf(backend, functions);
  return all.flatMap(({ fn, jobs }) => [...jobs].map((job) => ({ fn, ...job })));
}

/** Whether an allowed job may run now. */
export async function isAnyDue(
  backend: TestBackend,
  functions: readonly string[],
  now: number,
  allows: Allows,
): Promise<boolean> {
  for (const { fn, jobs } of await runnableOf(backend, functions))
    for (const { id, due } of jobs) if (due <= now && allows(fn, id)) return true;
  return false;
}

/** When the next allowed job is due that is not due yet. */
export async function nextDueOf(
  backend: TestBackend,
  functions: readonly string[],
  now: number,
  allows: Allows,
): Promise<number> {
  let next = Infinity;
  for (const { fn, jobs } of await runnableOf(backend, functions))
    for (const { id, due } of jobs) if (due > now && due < next && allows(fn, id)) next = due;
  return next;
}
