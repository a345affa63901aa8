import type { Redis } from 'ioredis';

/** What stays for a time of its own, or for good: ids, jobs that have ended, keys of requests, figures of layout. */
const STAYS =
  /^(ids|swept|constraints-version|layout|names|results|pullers|job:.*|key:.*|key-counts|status:(done|error)(:.*)?|starts:.*)$/;

/** Keys that should not be there once every job has ended, every worker has left and no constraint is left. */
export async function leftovers(redis: Redis, prefix = '{jq}:'): Promise<string[]> {
  const keys = await redis.keys(`${prefix}*`);
  return keys
    .map((key) => key.slice(prefix.length))
    .filter((key) => !STAYS.test(key))
    .sort();
}

/** Of these, those of jobs: of workers that were killed more stays, until their silence has lasted long enough. */
export async function leftoversOfJobs(redis: Redis): Promise<string[]> {
  const ofWorkers =
    /^(worker:.*|workers|client-.*|silent|resting|gone|leaving|members:.*|free:.*|class:.*|classes:.*|dry:.*|pullers|constraints|limits)$/;
  return (await leftovers(redis)).filter((key) => !ofWorkers.test(key));
}

/** Those of these jobs of which an attempt took too long, as far as their master knows: the next is no fault. */
export async function timedOut(redis: Redis, jobs: readonly string[], prefix = '{jq}:'): Promise<string[]> {
  const hashes = await Promise.all(jobs.map((job) => redis.hgetall(`${prefix}job:${job}`)));
  const isLate = (hash: Record<string, string>) =>
    Object.entries(hash).some(
      ([field, note]) => field.startsWith('attempt:') && note.includes('"outcome":"timeout"'),
    );
  return jobs.filter((_, i) => isLate(hashes[i] ?? {}));
}
