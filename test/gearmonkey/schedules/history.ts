import type { Redis } from 'ioredis';

/** A job that a schedule created. */
export interface TickJob {
  readonly id: string;
  readonly schedule: string;
  /** In ms since 1970. */
  readonly slot: number;
  readonly previous: number | undefined;
  readonly status: string;
}

/** All jobs of a function that schedules created, in the order of their slots. */
export async function tickJobs(redis: Redis, fn: string): Promise<TickJob[]> {
  const last = Number(await redis.get(`uid:${fn}`));
  const found: TickJob[] = [];
  for (let from = 1; from <= last; from += 500) {
    const ids = Array.from({ length: Math.min(500, last - from + 1) }, (_, index) => String(from + index));
    const read = await Promise.all(ids.map((id) => redis.hmget(`job:${fn}:${id}`, 'options', 'status')));
    for (const [index, [options, status]] of read.entries()) {
      const { recurring } = JSON.parse(options ?? '{}') as {
        recurring?: { id: string; slot: number; previous?: number };
      };
      if (!recurring) continue;
      const { id: schedule, slot, previous } = recurring;
      found.push({ id: ids[index] ?? '', schedule, slot, previous, status: status ?? '' });
    }
  }
  return found.toSorted((one, other) => one.slot - other.slot);
}

/** What is wrong with the jobs of schedules that run each `every` milliseconds and make up for all that was missed. */
export function violations(jobs: readonly TickJob[], every: number): string[] {
  const problems: string[] = [];
  for (const schedule of new Set(jobs.map((job) => job.schedule))) {
    const ticks = jobs.filter((job) => job.schedule === schedule);
    for (const [index, { id, slot, previous, status }] of ticks.entries()) {
      const before = ticks[index - 1];
      const what = `${schedule}, job ${id} of slot ${slot}`;
      if (before && slot === before.slot) problems.push(`${what}: job ${before.id} has the same slot`);
      if (before && slot > before.slot + every)
        problems.push(`${what}: slots are missing after ${before.slot}`);
      if (previous !== before?.slot) problems.push(`${what}: previous is ${previous}, not ${before?.slot}`);
      if (status === 'idle' || status === 'busy') problems.push(`${what} is still ${status}`);
    }
  }
  return problems;
}
