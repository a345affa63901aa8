import { JobFailedError, type GearMonkeyClient } from 'nestjs-gearmonkey';
import { digest, type Digest, type DigestInput } from './digest.job.js';
import type { Display } from './display.js';

/** A finished job: its output, or its error. */
export interface Finished {
  id: string;
  path: string;
  outcome: Digest | JobFailedError;
}

/** Enqueues a job for each file, shows their progress, and waits for all of them. */
export async function runJobs(
  jobs: GearMonkeyClient,
  files: readonly DigestInput[],
  display: Pick<Display, 'begin' | 'update' | 'finish'>,
): Promise<Finished[]> {
  const paths = new Map<string, string>();
  const watching = jobs.progress(digest).subscribe(({ id, dividend, divisor }) => {
    const path = paths.get(id);
    if (path !== undefined) display.update(path, dividend, divisor);
  });
  try {
    const handles = await jobs.runMany(digest, files);
    display.begin(files);
    return await Promise.all(
      handles.map(async (job, index) => {
        const { path, size } = files[index] as DigestInput;
        paths.set(job.id, path);
        const outcome = await job.result().catch(failureOf);
        display.finish(path, size);
        return { id: job.id, path, outcome };
      }),
    );
  } finally {
    watching.unsubscribe();
  }
}

/** A failed job is a result; any other error ends the demo. */
function failureOf(error: unknown): JobFailedError {
  if (error instanceof JobFailedError) return error;
  throw error;
}
