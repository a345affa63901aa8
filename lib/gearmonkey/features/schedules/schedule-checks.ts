import {
  plainly,
  type Examination,
  type Examined,
  type FeatureCheck,
  type Suspicion,
} from '../../core/examination.js';

/** A tick that is so late is made by no worker. */
const LATE_MS = 60_000;

export const scheduleChecks: FeatureCheck = { of: 'schedules', check: checkSchedules };

async function checkSchedules(
  { redis }: Examination,
  { fn, keys, now, alive, paused }: Examined,
): Promise<Suspicion[]> {
  if (alive === undefined) return [];
  const [ticks, late] = await Promise.all([
    redis.zcard(keys.ticks),
    redis.zcount(keys.ticks, '-inf', now - LATE_MS),
  ]);
  if (ticks === 0 || (alive > 0 && (late === 0 || paused))) return [];
  const why = alive === 0 ? 'it has no worker of this package' : `${late} are more than a minute late`;
  return [
    plainly({
      code: 'SCHEDULES_UNSERVED',
      severity: 'error',
      fn,
      title: `${ticks} schedules of ${fn} create no jobs: ${why}.`,
      remedy: `Start a worker of ${fn} with this package, or pause or remove them: gearmonkey recur list ${fn}.`,
    }),
  ];
}
