import { describe, expect, it } from '@jest/globals';
import { planSchedule, type StoredForeignSchedule } from '../../lib/import/foreign-schedules.js';

const NOW = Date.parse('2027-03-01T12:00:00Z');
const HOUR = 3_600_000;

/** A scheduler with a next job. */
function scheduler(
  hash: Record<string, string>,
  next: number,
  {
    repeat = {},
    key = 'daily',
    isDelayed = true,
  }: { repeat?: object; key?: string; isDelayed?: boolean } = {},
): StoredForeignSchedule {
  const job = { data: '{"n":1}', opts: JSON.stringify({ repeat }), name: 'report' };
  const id = `repeat:${key}:${next}`;
  return { key, score: String(next), hash, job: { id, hash: job, ...(isDelayed && { due: next }) } };
}

const plan = (stored: StoredForeignSchedule) => planSchedule(stored, 'mail', () => 'mail', NOW);

/** The same of one that doesn't stay. */
async function planned(stored: StoredForeignSchedule) {
  const schedule = await plan(stored);
  if (typeof schedule === 'string') throw new TypeError(`It stays: ${schedule}`);
  return schedule;
}

describe('the schedule that takes the place of one of BullMQ', () => {
  it('stays away if it would have another next time', async () => {
    const next = Date.parse('2027-03-02T08:00:00Z');
    const berlin = { pattern: '0 9 * * *', tz: 'Europe/Berlin' };
    await expect(plan(scheduler(berlin, next))).resolves.toMatchObject({
      fn: 'mail',
      job: `repeat:daily:${next}`,
    });
    await expect(plan(scheduler({ ...berlin, tz: 'Asia/Tokyo' }, next))).resolves.toBe('schedule');
    await expect(plan(scheduler({ ...berlin, pattern: 'no pattern' }, next))).resolves.toBe('schedule');
    await expect(plan(scheduler({ every: '500' }, next))).resolves.toBe('schedule');
  });

  it('begins with the next job, also if that is far away', async () => {
    const next = Date.parse('2028-01-01T09:00:00Z');
    const { options } = await planned(scheduler({ pattern: '0 9 * * *', tz: 'UTC' }, next));
    expect(options).toMatchObject({ cron: '0 9 * * *', timezone: 'UTC', from: next });
  });

  it('goes on after a job that is due, which is moved by itself', async () => {
    const late = NOW - 90 * 60_000;
    const after = await planned(scheduler({ every: String(HOUR) }, late));
    expect(after).not.toHaveProperty('job');
    expect(after.options).toMatchObject({ every: HOUR, from: NOW + HOUR / 2 });
  });

  it('has no time twice, also if the clock of its server is behind', async () => {
    const cron = await planned(scheduler({ pattern: '0 * * * *', tz: 'UTC' }, NOW));
    expect(cron.options?.from).toBe(NOW + 1);
    const every = await planned(scheduler({ every: String(HOUR) }, NOW));
    expect(every.options?.from).toBe(NOW + HOUR);
  });

  it('is none if its last job is due', async () => {
    const endDate = String(NOW + 60_000);
    const over = { fn: 'mail', data: '{"n":1}' };
    await expect(plan(scheduler({ every: String(HOUR), endDate }, NOW - 1))).resolves.toEqual(over);
    await expect(plan(scheduler({ pattern: '0 * * * *', tz: 'UTC', endDate }, NOW))).resolves.toEqual(over);
    await expect(plan(scheduler({ pattern: 'no pattern', endDate }, NOW))).resolves.toBe('schedule');
  });

  it('has as many jobs as are left of a limit', async () => {
    const [next, late] = [NOW + HOUR, NOW - 1];
    const times = { every: String(HOUR), limit: '5' };
    const left = async (time: number, count: number) =>
      (await planned(scheduler(times, time, { repeat: { count } }))).options?.limit;
    await expect(left(next, 1)).resolves.toBe(5);
    await expect(left(next, 5)).resolves.toBe(1);
    await expect(left(late, 4)).resolves.toBe(1);
    await expect(plan(scheduler(times, late, { repeat: { count: 5 } }))).resolves.toEqual({
      fn: 'mail',
      data: '{"n":1}',
    });
  });

  it('keeps an id of the app behind its queue, and makes others readable', async () => {
    const idOf = async (key: string) =>
      (await planned(scheduler({ every: String(HOUR) }, NOW + HOUR, { key }))).options?.id;
    await expect(idOf('daily-report')).resolves.toBe('mail:daily-report');
    await expect(idOf('report::::3600000')).resolves.toMatch(/^mail:report-[0-9a-f]{8}$/);
    await expect(idOf('0cc175b9c0f1b6a831c399e269772661')).resolves.toMatch(/^mail:report-[0-9a-f]{8}$/);
  });

  it('is none without a function, or data that can be read', async () => {
    const every = { every: String(HOUR) };
    const stored = scheduler(every, NOW + HOUR);
    await expect(planSchedule(stored, 'mail', () => undefined, NOW)).resolves.toBe('unmapped');
    await expect(plan({ key: 'daily', score: String(NOW), hash: every })).resolves.toBe('broken');
    await expect(plan({ key: 'daily', score: String(NOW), hash: { ...every, data: '{' } })).resolves.toBe(
      'broken',
    );
  });
});
