import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { keysOf } from '../../../lib/gearmonkey/core/wire/protocol.js';
import * as scripts from '../../../lib/gearmonkey/features/schedules/schedule-scripts.js';
import { useRedisServer } from '../../support/use-redis.js';
import { claim, NOW } from '../scripts/scripts.js';

const MARK = 7_000_000;
const SECOND = 1000;

describe('The scripts of schedules', () => {
  const server = useRedisServer();
  const redis = () => server.redis;
  let fn = '';
  beforeEach(() => void (fn = server.fn()));

  const both = () => [keysOf(fn).schedules, keysOf(fn).ticks];

  /** Writes the schedule "s", whose next tick has the slot "1" and is at `time`. */
  const write = (
    { version = '', slot = '' } = {},
    { id = 's', spec = '{}', next = 'v1', nextSlot = '1', time = NOW as number | '' } = {},
    by = redis(),
  ) => scripts.writeSchedule.run(by, both(), id, version, slot, spec, next, nextSlot, time);

  const TICK = {
    ...{ version: 'v1', slot: '1', next: '2', time: NOW + SECOND, limit: '' as number | '', ifRunning: '' },
    ...{ kind: '', span: 0, input: 'input' },
    /** Their slots. */
    jobs: [NOW],
  };
  /** The tick that is due, of the schedule "s". */
  function tick(given: Partial<typeof TICK> = {}, now = NOW, by = redis()) {
    const { version, slot, next, time, limit, ifRunning, kind, span, input, jobs } = { ...TICK, ...given };
    const { ids, jobs: hashes, scheduled, channel, wake, unique } = keysOf(fn);
    const keys = [ids, hashes, scheduled, channel, wake, ...both(), unique];
    const each = jobs.flatMap((of) => [String(of), String(of / 1000), `{"slot":${of}}`]);
    const values = ['s', version, slot, next, time, limit, ifRunning, kind, span, 'key', input, jobs.length];
    return scripts.tick.run(by, keys, now, MARK, [...values.map(String), ...each]);
  }
  /** The next tick of "s", which has the slot `slot`. */
  const again = async (slot: number, more: Partial<typeof TICK> = {}, now = NOW) =>
    (await tick({ slot: String(slot), next: String(slot + 1), ...more }, now)).jobs.map(({ id }) => id);

  const read = async (...ids: string[]) =>
    (await scripts.schedules.run(redis(), both(), NOW, 'named', ids.length, ids)).schedules;
  const due = (now = NOW, most = 10, passedOver = 0) =>
    scripts.due.run(redis(), both(), now, most, passedOver);

  describe('write-schedule.lua', () => {
    it('writes a schedule unless another call has changed it or its tick', async () => {
      await expect(write()).resolves.toBe(true);
      await expect(write({}, { next: 'v2' })).resolves.toBe(false);
      await expect(write({ version: 'v1', slot: '0' }, { next: 'v2' })).resolves.toBe(false);
      await expect(write({ version: 'v0', slot: '1' }, { next: 'v2' })).resolves.toBe(false);
      await expect(read('s')).resolves.toMatchObject([{ version: 'v1' }]);
      await expect(write({ version: 'v1', slot: '1' }, { next: 'v2' })).resolves.toBe(true);
      await expect(read('s')).resolves.toMatchObject([{ version: 'v2', slot: '1', time: String(NOW) }]);
    });

    it('leaves nothing of one that is removed', async () => {
      await write();
      await again(1);
      await expect(
        write({ version: 'v1', slot: '2' }, { spec: '', next: '', nextSlot: '', time: '' }),
      ).resolves.toBe(true);
      await expect(redis().exists(...both())).resolves.toBe(0);
    });

    it('leaves one without a next tick', async () => {
      await write();
      await write({ version: 'v1', slot: '1' }, { nextSlot: '', time: '' });
      await expect(read('s')).resolves.toMatchObject([{ version: 'v1', slot: '', time: '' }]);
      await expect(due()).resolves.toMatchObject({ wait: -1, schedules: [] });
    });
  });

  describe('enter-schedule.lua', () => {
    const enter = (known: string, of: string) =>
      scripts.enterSchedule.run(redis(), [`index:${fn}`], 's', known, of);

    it('records one function for each id, unless another call was earlier', async () => {
      await expect(enter('', 'one')).resolves.toBe('one');
      await expect(enter('', 'two')).resolves.toBe('one');
      await expect(enter('two', '')).resolves.toBe('one');
      await expect(enter('one', '')).resolves.toBe('');
      await expect(redis().exists(`index:${fn}`)).resolves.toBe(0);
    });
  });

  describe('tick.lua', () => {
    beforeEach(() => write());

    it('creates jobs and sets the next tick, and wakes a worker', async () => {
      const { wait, jobs } = await tick({ jobs: [NOW, NOW + 1] });
      expect({ wait, jobs }).toEqual({
        wait: SECOND,
        jobs: [
          { schedule: 's', id: '1' },
          { schedule: 's', id: '2' },
        ],
      });
      await expect(redis().hgetall(`job:${fn}:2`)).resolves.toEqual({
        ...{ status: 'idle', input: 'input', created: String(NOW), mark: String(MARK) },
        ...{ due: String(NOW + 1), options: `{"slot":${NOW + 1}}` },
      });
      await expect(redis().llen(keysOf(fn).wake)).resolves.toBe(1);
      await expect(read('s')).resolves.toEqual([
        {
          ...{ id: 's', spec: '{}', version: 'v1', slot: '2', time: String(NOW + SECOND) },
          ...{ previous: String(NOW + 1), made: '2', job: `2:${MARK}` },
        },
      ]);
    });

    it('creates nothing for a tick that was done, or of a schedule that was changed', async () => {
      await expect(again(1)).resolves.toEqual(['1']);
      await expect(again(1)).resolves.toEqual([]);
      await write({ version: 'v1', slot: '2' }, { next: 'v2', nextSlot: '2' });
      await expect(again(2)).resolves.toEqual([]);
      await expect(again(2, { version: 'v2' })).resolves.toEqual(['2']);
      await expect(redis().get(keysOf(fn).ids)).resolves.toBe('2');
    });

    it('creates no more jobs than its limit, and has no next tick then', async () => {
      await expect(again(1, { limit: 3, jobs: [NOW, NOW + 1] })).resolves.toEqual(['1', '2']);
      await expect(again(2, { limit: 3, jobs: [NOW, NOW + 1] })).resolves.toEqual(['3']);
      await expect(read('s')).resolves.toMatchObject([{ slot: '', time: '', made: '3' }]);
      await expect(due(NOW + 1e9)).resolves.toMatchObject({ wait: -1, schedules: [] });
    });

    it('creates none while the last one waits or runs, if it is told so', async () => {
      const skip = { ifRunning: 'skip' };
      await expect(again(1, skip)).resolves.toEqual(['1']);
      await expect(again(2, skip)).resolves.toEqual([]);
      const { claims } = await claim(redis(), fn);
      await expect(again(3, skip)).resolves.toEqual([]);
      await claim(redis(), fn, { slots: 0, outcomes: [`1:${claims[0]?.token}`, 'success', '', ''] });
      await expect(again(4, skip)).resolves.toEqual(['2']);
    });

    it('goes on a day after a plain worker has died with its job', async () => {
      const skip = { ifRunning: 'skip' };
      await again(1, skip);
      await redis().hset(`job:${fn}:1`, 'status', 'busy');
      await expect(again(2, skip, NOW + 89_999_999)).resolves.toEqual([]);
      await expect(again(3, skip, NOW + 90_000_000)).resolves.toEqual(['2']);
    });

    it.each([
      ['unfinished', 0, [], []],
      ['waiting', 0, [], ['2']],
      ['throttle', 50, [], []],
    ] as const)(
      'creates none while another one of its key stands for it: %s',
      async (kind, span, waits, runs) => {
        await expect(again(1, { kind, span })).resolves.toEqual(['1']);
        await expect(again(2, { kind, span })).resolves.toEqual(waits);
        await claim(redis(), fn);
        await expect(again(3, { kind, span }, NOW + 49)).resolves.toEqual(runs);
        if (kind === 'throttle') await expect(again(4, { kind, span }, NOW + 50)).resolves.toEqual(['2']);
      },
    );
  });

  describe.each(['hset', 'hdel', 'hmget', 'zadd', 'zrem', 'incrby'])(
    'A user who lost the right to %s',
    (right) => {
      let lacking: Redis;
      beforeEach(async () => {
        await redis().acl('SETUSER', 'lacking', 'reset', 'on', 'nopass', '~*', '&*', '+@all', `-${right}`);
        lacking = redis().duplicate({ username: 'lacking', password: 'any' });
      });
      afterEach(() => lacking.disconnect());
      const removed = { spec: '', next: '', nextSlot: '', time: '' } as const;

      it.each([
        ['a tick', { next: '2' }],
        ['the last tick', { next: '' }],
      ])('makes no job of %s, which is made once by others', async (_, more) => {
        await write();
        const unique = { kind: 'unfinished', span: 0 };
        await expect(tick({ ...more, ...unique }, NOW, lacking)).rejects.toThrow(/user/);
        await expect(redis().exists(`job:${fn}:1`, keysOf(fn).scheduled)).resolves.toBe(0);
        await expect(again(1, { ...more, ...unique })).resolves.toHaveLength(1);
        await expect(again(1, more)).resolves.toEqual([]);
      });

      if (right === 'incrby') return;
      it('writes nothing of a schedule, and leaves one that is to be changed or removed', async () => {
        await expect(write({}, {}, lacking)).rejects.toThrow(/user/);
        await expect(redis().exists(...both())).resolves.toBe(0);
        await write();
        const known = { version: 'v1', slot: '1' };
        for (const change of [
          { next: 'v2', nextSlot: '2' },
          { next: 'v2', nextSlot: '', time: '' as const },
          removed,
        ])
          await expect(write(known, change, lacking)).rejects.toThrow(/user/);
        await expect(read('s')).resolves.toMatchObject([{ version: 'v1', slot: '1', time: String(NOW) }]);
      });
    },
  );

  describe('due.lua', () => {
    it('reads schedules that are due, and says when the next one is', async () => {
      await write({}, { id: 'a', time: NOW - 5 });
      await write({}, { id: 'b', time: NOW });
      await write({}, { id: 'c', time: NOW + 50 });
      const ids = async (...asked: Parameters<typeof due>) => {
        const { wait, schedules } = await due(...asked);
        return [wait, ...schedules.map(({ id }) => id)];
      };
      await expect(ids()).resolves.toEqual([50, 'a', 'b']);
      await expect(ids(NOW, 1)).resolves.toEqual([0, 'a']);
      await expect(ids(NOW, 10, 1)).resolves.toEqual([50, 'b']);
    });

    it('removes ticks of schedules that there are not', async () => {
      await redis().zadd(keysOf(fn).ticks, NOW, 'gone');
      await expect(due()).resolves.toMatchObject({ schedules: [], wait: -1 });
      await expect(redis().exists(keysOf(fn).ticks)).resolves.toBe(0);
    });

    it('leaves what is beyond a mebibyte for the next call', async () => {
      for (const id of ['a', 'b', 'c', 'd']) await write({}, { id, spec: `"${'x'.repeat(600_000)}"` });
      const { wait, schedules } = await due();
      expect([wait, schedules.map(({ id }) => id)]).toEqual([0, ['a', 'b']]);
    });
  });

  describe('schedules.lua', () => {
    /** Ids and how long what they are is, of all pages. */
    async function pages(most: number): Promise<[string, number][]> {
      const found = new Map<string, number>();
      let cursor = '0';
      do {
        const page = await scripts.schedules.run(redis(), both(), NOW, 'page', most, [cursor]);
        for (const { id, spec } of page.schedules) found.set(id, spec.length);
        cursor = page.next;
      } while (cursor !== '0');
      return [...found].toSorted(([a], [b]) => a.localeCompare(b));
    }

    it('reads all of them in pages', async () => {
      const ids = Array.from({ length: 500 }, (_, index) => String(1000 + index));
      for (const id of ids) await write({}, { id });
      await expect(pages(20)).resolves.toEqual(ids.map((id) => [id, 2]));
    });

    it('reads of those beyond a mebibyte only the ids', async () => {
      for (const id of ['a', 'b', 'c', 'd']) await write({}, { id, spec: 'x'.repeat(600_000) });
      const lengths = (await pages(100)).map(([, length]) => length);
      expect(lengths.toSorted((a, b) => a - b)).toEqual([0, 0, 600_000, 600_000]);
    });
  });
});
