import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { createReadStream } from 'node:fs';
import type { Digest } from './digest.job.js';
import { countLines } from './lines.js';
import type { Finished } from './run-jobs.js';

/** How a job's result compares with a direct computation. `changed`: the file was changed after the job read it. */
export type Verdict = 'agrees' | 'differs' | 'unreadable' | 'changed';

const IN_PARALLEL = 8;

/** Computes every digest again without jobs, and compares. Calls `onChecked` for each. */
export async function checkAll(
  finished: readonly Finished[],
  since: Date,
  onChecked: (job: Finished) => void = () => undefined,
): Promise<Map<Finished, Verdict>> {
  const verdicts = new Map<Finished, Verdict>();
  const left = finished[Symbol.iterator]();
  const lane = async () => {
    for (const job of left) {
      verdicts.set(job, await check(job, since));
      onChecked(job);
    }
  };
  await Promise.all(Array.from({ length: IN_PARALLEL }, lane));
  return verdicts;
}

async function check({ path, outcome }: Finished, since: Date): Promise<Verdict> {
  const direct = await compute(path).catch(() => undefined);
  const job = outcome instanceof Error ? undefined : outcome;
  if (!job && !direct) return 'unreadable';
  if (job && direct && agree(job, direct)) return 'agrees';
  return (await isUntouched(path, since)) ? 'differs' : 'changed';
}

function agree(job: Digest, direct: Pick<Digest, 'sha256' | 'bytes' | 'lines'>): boolean {
  return job.sha256 === direct.sha256 && job.bytes === direct.bytes && job.lines === direct.lines;
}

async function compute(path: string): Promise<Pick<Digest, 'sha256' | 'bytes' | 'lines'>> {
  const hash = createHash('sha256');
  let [bytes, lines] = [0, 0];
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    hash.update(chunk);
    bytes += chunk.length;
    lines += countLines(chunk);
  }
  return { sha256: hash.digest('hex'), bytes, lines };
}

/** Whether the file exists and was not changed since: then a difference is an error. */
async function isUntouched(path: string, since: Date): Promise<boolean> {
  const info = await stat(path).catch(() => undefined);
  return info !== undefined && info.mtime < since && info.ctime < since;
}
