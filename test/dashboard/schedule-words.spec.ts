import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { scheduleWords } from '../../lib/dashboard/schedule-words.js';
import type { Schedule } from '../../lib/gearmonkey/features/schedules/schedule.js';

const words = (schedule: Partial<Schedule>) => scheduleWords({ seconds: false, ...schedule } as Schedule);

describe('a schedule in words', () => {
  it.each([
    ['0 9 * * 1-5', 'weekdays at 9:00'],
    ['30 6 * * MON-FRI', 'weekdays at 6:30'],
    ['5 9,17 * * *', 'daily at 9:05 and 17:05'],
    ['*/15 * * * *', 'every 15 minutes'],
    ['* * * * *', 'every minute'],
    ['20 * * * *', 'every hour at :20'],
    ['0 0 * * 0', 'Sundays at 0:00'],
    ['0 0 1 * *', 'monthly on day 1 at 0:00'],
    ['@hourly', 'every hour at :00'],
    // Patterns that words would not make clearer.
    ['0 9-17 * * 1-5', 'cron 0 9-17 * * 1-5'],
    ['0 9 1 1 *', 'cron 0 9 1 1 *'],
    // Also at the full hour, a quarter after the one before.
    ['*/45 * * * *', 'cron */45 * * * *'],
    ['0 */5 * * *', 'cron 0 */5 * * *'],
    ['0 */6 * * *', 'every 6 hours at :00'],
    ['nonsense', 'cron nonsense'],
  ])('%s', (cron, expected) => {
    expect(words({ cron })).toBe(expected);
  });

  it('names its time zone, and counts seconds', () => {
    expect(words({ cron: '0 9 * * *', timezone: 'Europe/Berlin' })).toBe('daily at 9:00, Europe/Berlin');
    expect(words({ cron: '0 0 9 * * *', seconds: true })).toBe('daily at 9:00');
    expect(words({ cron: '15 0 9 * * *', seconds: true })).toBe('cron 15 0 9 * * *');
  });

  it('stays short, whatever another program has written', () => {
    const field = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('*', '*/5', '1-5', '0,'.repeat(50_000)),
    );
    const cron = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 5000 }),
      fc.array(field).map((all) => all.join(' ')),
    );
    fc.assert(
      fc.property(cron, fc.boolean(), fc.string({ maxLength: 5000 }), (text, seconds, timezone) => {
        expect(words({ cron: text, seconds, timezone }).length).toBeLessThanOrEqual(200);
      }),
      { numRuns: 2000 },
    );
  });
});
