import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import {
  lastSlot,
  loadPatterns,
  nextSlot,
  patternOf,
  type Slot,
  type Timing,
} from '../../../lib/gearmonkey/features/schedules/timing.js';

beforeAll(loadPatterns);

const HOUR_MS = 3_600_000;
const at = (time: string) => Date.parse(time);
const iso = ({ time }: Slot) => new Date(time).toISOString().replace(':00.000Z', 'Z');

/** All slots in a span. */
function slots(timing: Timing, from: string, to: string): Slot[] {
  const found: Slot[] = [];
  let slot = nextSlot(timing, at(from) - 1);
  while (slot && slot.time <= at(to)) {
    found.push(slot);
    slot = nextSlot(timing, slot.time, slot.label);
  }
  return found;
}

/** What a schedule does where clocks change, and on odd days: times in UTC. */
const TABLE: readonly [
  what: string,
  cron: string,
  timezone: string,
  from: string,
  to: string,
  due: string[],
][] = [
  [
    'a time that the change to summer time skips: once, at the first time after it',
    ...(['30 2 * * *', 'Europe/Berlin', '2026-03-28T00:00Z', '2026-03-30T12:00Z'] as const),
    ['2026-03-28T01:30Z', '2026-03-29T01:00Z', '2026-03-30T00:30Z'],
  ],
  [
    'half hours in the skipped hour: none',
    ...(['*/30 * * * *', 'Europe/Berlin', '2026-03-29T00:00Z', '2026-03-29T02:00Z'] as const),
    ['2026-03-29T00:00Z', '2026-03-29T00:30Z', '2026-03-29T01:00Z', '2026-03-29T01:30Z', '2026-03-29T02:00Z'],
  ],
  [
    'a time that the change to winter time repeats: once, the first time',
    ...(['30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00Z', '2026-10-26T12:00Z'] as const),
    ['2026-10-25T00:30Z', '2026-10-26T01:30Z'],
  ],
  [
    'half hours in the repeated hour: both times',
    ...(['*/30 * * * *', 'Europe/Berlin', '2026-10-25T00:00Z', '2026-10-25T02:00Z'] as const),
    ['2026-10-25T00:00Z', '2026-10-25T00:30Z', '2026-10-25T01:00Z', '2026-10-25T01:30Z', '2026-10-25T02:00Z'],
  ],
  [
    'every hour in the repeated hour: both times',
    ...(['0 * * * *', 'America/New_York', '2026-11-01T05:00Z', '2026-11-01T07:00Z'] as const),
    ['2026-11-01T05:00Z', '2026-11-01T06:00Z', '2026-11-01T07:00Z'],
  ],
  [
    'a time that a shift of 30 minutes skips: once, at the first time after it',
    ...(['15 2 * * *', 'Australia/Lord_Howe', '2026-10-02T12:00Z', '2026-10-05T00:00Z'] as const),
    ['2026-10-02T15:45Z', '2026-10-03T15:30Z', '2026-10-04T15:15Z'],
  ],
  [
    'a time that a shift of 30 minutes repeats: once',
    ...(['45 1 * * *', 'Australia/Lord_Howe', '2026-04-03T00:00Z', '2026-04-05T20:00Z'] as const),
    ['2026-04-03T14:45Z', '2026-04-04T14:45Z', '2026-04-05T15:15Z'],
  ],
  [
    'a midnight that is skipped: once, at one',
    ...(['0 0 * * *', 'Asia/Beirut', '2026-03-27T12:00Z', '2026-03-29T23:00Z'] as const),
    ['2026-03-27T22:00Z', '2026-03-28T22:00Z', '2026-03-29T21:00Z'],
  ],
  [
    '@daily where midnight is skipped',
    ...(['@daily', 'Asia/Beirut', '2026-03-27T12:00Z', '2026-03-29T23:00Z'] as const),
    ['2026-03-27T22:00Z', '2026-03-28T22:00Z', '2026-03-29T21:00Z'],
  ],
  [
    'a day that a zone leaves out altogether: not in that year',
    ...(['0 12 30 12 *', 'Pacific/Apia', '2011-12-01T00:00Z', '2012-12-31T00:00Z'] as const),
    ['2012-12-29T22:00Z'],
  ],
  [
    '29 February',
    ...(['0 12 29 2 *', 'UTC', '2026-01-01T00:00Z', '2037-01-01T00:00Z'] as const),
    ['2028-02-29T12:00Z', '2032-02-29T12:00Z', '2036-02-29T12:00Z'],
  ],
  [
    'the 13th or a Friday',
    ...(['0 0 13 * 5', 'UTC', '2026-11-01T00:00Z', '2026-11-20T12:00Z'] as const),
    ['2026-11-06T00:00Z', '2026-11-13T00:00Z', '2026-11-20T00:00Z'],
  ],
  [
    'the 31st, in months that have one',
    ...(['0 0 31 * *', 'UTC', '2026-01-01T00:00Z', '2026-06-01T00:00Z'] as const),
    ['2026-01-31T00:00Z', '2026-03-31T00:00Z', '2026-05-31T00:00Z'],
  ],
  [
    'the last day of each month',
    ...(['0 0 L * *', 'UTC', '2028-01-15T00:00Z', '2028-04-01T00:00Z'] as const),
    ['2028-01-31T00:00Z', '2028-02-29T00:00Z', '2028-03-31T00:00Z'],
  ],
];

describe('nextSlot', () => {
  it.each(TABLE)('finds %s', (_, cron, timezone, from, to, due) => {
    const found = slots({ cron, timezone }, from, to);
    expect(found.map(iso)).toEqual(due);
    expect(new Set(found.map(({ label }) => label)).size).toBe(found.length);
  });

  it('names a slot by the time that the pattern names, not by the one at which it is due', () => {
    const timing = { cron: '30 2 * * *', timezone: 'Europe/Berlin' };
    const [skipped, repeated] = [at('2026-03-29T00:00Z'), at('2026-10-24T12:00Z')].map((time) =>
      nextSlot(timing, time),
    );
    expect(skipped?.label).toBe('2026-03-29T02:30:00');
    expect(repeated?.label).toBe('2026-10-25T02:30:00');
  });

  it('does not return the slot of a program that put it at another time', () => {
    const timing = { cron: '30 2 * * *', timezone: 'Europe/Berlin' };
    // An earlier library puts what is skipped at 02:30 to 01:59:59 or to 03:30 of summer time.
    for (const time of ['2026-03-29T00:59:59Z', '2026-03-29T01:30Z']) {
      const next = nextSlot(timing, at(time), '2026-03-29T02:30:00');
      expect(next && iso(next)).toBe('2026-03-30T00:30Z');
    }
  });

  it('begins with `from` and ends with `until`, both included', () => {
    const timing = { cron: '0 9 * * *', from: at('2026-11-23T09:00Z'), until: at('2026-11-24T09:00Z') };
    expect(slots(timing, '2026-01-01T00:00Z', '2027-01-01T00:00Z').map(iso)).toEqual([
      '2026-11-23T09:00Z',
      '2026-11-24T09:00Z',
    ]);
  });

  it('counts `every` from its anchor, however late it is asked', () => {
    const anchor = at('2026-11-22T09:00:07Z');
    const timing = { every: 600_000, anchor };
    fc.assert(
      fc.property(fc.integer({ min: -10 * HOUR_MS, max: 1000 * HOUR_MS }), (later) => {
        const slot = nextSlot(timing, anchor + later) as Slot;
        expect((slot.time - anchor) % 600_000).toBe(0);
        expect(slot.time).toBeGreaterThan(anchor + Math.max(0, later));
        expect(slot.time - anchor - Math.max(0, later)).toBeLessThanOrEqual(600_000);
      }),
    );
  });

  it('begins `every` with `from` itself', () => {
    const from = at('2026-11-22T09:00Z');
    const timing = { every: HOUR_MS, from, anchor: from };
    expect([at('2020-01-01T00:00Z'), from - 1, from].map((time) => nextSlot(timing, time)?.time)).toEqual([
      from,
      from,
      from + HOUR_MS,
    ]);
  });

  it('goes forward with a new label each time, whatever the pattern and the zone', () => {
    const field = (most: number) =>
      fc.oneof(
        fc.integer({ min: 0, max: most }).map(String),
        fc.constantFrom('*', '*/5', '*/20', '1-3', '0,2'),
      );
    const zone = fc.constantFrom(
      'UTC',
      'Europe/Berlin',
      'Australia/Lord_Howe',
      'America/St_Johns',
      'Asia/Beirut',
    );
    const changes = [
      '2026-03-29T00:00Z',
      '2026-10-25T00:00Z',
      '2026-04-04T14:00Z',
      '2026-10-03T14:00Z',
      '2026-03-28T21:00Z',
    ];
    fc.assert(
      fc.property(
        field(59),
        field(23),
        zone,
        fc.constantFrom(...changes),
        (minute, hour, timezone, start) => {
          const timing = { cron: `${minute} ${hour} * * *`, timezone };
          let slot = nextSlot(timing, at(start)) as Slot;
          const seen = new Set<string>();
          for (let i = 0; i < 20; i++) {
            expect(seen.has(slot.label)).toBe(false);
            seen.add(slot.label);
            const next = nextSlot(timing, slot.time, slot.label) as Slot;
            expect(next.time).toBeGreaterThan(slot.time);
            slot = next;
          }
        },
      ),
      { numRuns: 100 },
    );
  });
});

describe('lastSlot', () => {
  it.each([
    ['0 9 * * *', '2026-11-01T09:00Z', '2026-11-22T08:59Z', '2026-11-21T09:00Z'],
    ['* * * * *', '2026-01-01T00:00Z', '2026-11-22T08:59Z', '2026-11-22T08:59Z'],
    ['0 0 29 2 *', '2020-02-29T00:00Z', '2027-01-01T00:00Z', '2024-02-29T00:00Z'],
    ['0 9 * * *', '2026-11-22T09:00Z', '2026-11-22T09:00Z', '2026-11-22T09:00Z'],
  ])('of "%s" from %s on, at %s, is %s', (cron, first, now, last) => {
    const timing = { cron };
    const slot = nextSlot(timing, at(first) - 1) as Slot;
    expect(iso(lastSlot(timing, slot, at(now)))).toBe(last);
  });

  const ONCE_A_YEAR: readonly [cron: string, first: string, now: string, last: string][] = [
    ['* * * * 1 *', '2025-01-01T00:00Z', '2026-11-22T00:00Z', '2026-01-31T23:59:59.000Z'],
    ['* * * 29 2 *', '2020-02-29T00:00Z', '2026-11-22T00:00Z', '2024-02-29T23:59:59.000Z'],
    ['*/2 * * 1-3 1 *', '1970-01-01T00:00Z', '2026-11-22T00:00Z', '2026-01-03T23:59:58.000Z'],
    ['* * * 29 2 *', '2024-02-29T00:00Z', '2024-02-29T07:00:03Z', '2024-02-29T07:00:03.000Z'],
  ];
  it.each(ONCE_A_YEAR)(
    'visits few slots of "%s", of which very many are close together',
    (cron, ...times) => {
      const timing = { cron, seconds: true };
      const [first, now] = [at(times[0]), at(times[1])];
      const { zoned } = patternOf(timing);
      const nextRun = jest.spyOn(zoned, 'nextRun');
      const slot = nextSlot(timing, first - 1) as Slot;
      expect(new Date(lastSlot(timing, slot, now).time).toISOString()).toBe(times[2]);
      expect(nextRun.mock.calls.length).toBeLessThan(60);
      nextRun.mockRestore();
    },
  );

  it('is the one that is found by going from slot to slot', () => {
    const crons = ['30 2 * * *', '*/30 * * * *', '15 1-3 * * 0', '0 0 1 * *', '0 */7 13 * 5'];
    const zones = ['UTC', 'Europe/Berlin', 'Australia/Lord_Howe', 'Asia/Beirut', 'America/St_Johns'];
    const minute = fc.integer({ min: 0, max: 500_000 });
    fc.assert(
      fc.property(
        fc.constantFrom(...crons),
        fc.constantFrom(...zones),
        minute,
        fc.integer({ min: 0, max: 20_000 }),
        (cron, timezone, start, later) => {
          const timing = { cron, timezone };
          const from = at('2026-01-01T00:00Z') + start * 60_000;
          const first = nextSlot(timing, from) as Slot;
          const now = first.time + later * 60_000 + 5;
          let expected = first;
          for (;;) {
            const next = nextSlot(timing, expected.time, expected.label) as Slot;
            if (next.time > now) break;
            expected = next;
          }
          expect(lastSlot(timing, first, now)).toEqual(expected);
        },
      ),
      { numRuns: 150 },
    );
  });

  it('ends with the last time that there is', () => {
    const from = 8.64e15;
    const timing = { every: 1000, from, anchor: from };
    const first = nextSlot(timing, 0) as Slot;
    expect(first.time).toBe(from);
    expect(nextSlot(timing, first.time, first.label)).toBeUndefined();
  });

  it('is found at once after a label that no program of this kind writes', () => {
    const next = nextSlot({ cron: '30 2 * * *' }, at('2026-01-01T00:00Z'), 'zzz') as Slot;
    expect(next.time).toBeLessThan(at('2026-01-06T00:00Z'));
  });

  it('finds it at once after a year of seconds', () => {
    const timing = { cron: '* * * * * *', seconds: true };
    const first = nextSlot(timing, at('2025-11-22T00:00Z')) as Slot;
    expect(lastSlot(timing, first, at('2026-11-22T00:00Z')).time).toBe(at('2026-11-22T00:00Z'));
  });
});
