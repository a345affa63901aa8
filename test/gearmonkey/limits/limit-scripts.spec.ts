import { beforeEach, describe, expect, it } from '@jest/globals';
import * as limitScripts from '../../../lib/gearmonkey/features/limits/limit-scripts.js';
import { keysOf } from '../../../lib/gearmonkey/core/wire/protocol.js';
import { ChannelLog } from '../../conformance/wire.js';
import { useRedis } from '../../support/use-redis.js';
import {
  cancel,
  claim,
  enqueue,
  enqueueLimited,
  look,
  NOW,
  LEASE_MS,
  readLimits,
  setLimit,
} from '../scripts/scripts.js';

describe('limits in the scripts', () => {
  const server = useRedis();
  const redis = () => server.redis;
  let fn = '';
  beforeEach(() => void (fn = server.fn()));

  const ids = async (taken: ReturnType<typeof claim>) => (await taken).claims.map(({ id }) => id);
  const success = (member: string) => [member, 'success', 'output', ''];
  const text = (id: string, field: string) => redis().hget(keysOf(fn).jobs + id, field);

  describe('concurrency', () => {
    it('lets as many jobs of a key run as it says', async () => {
      await enqueueLimited(redis(), fn, ['a', 'a', 'b', 'a'], { rules: '2:::fair:' });
      expect(await ids(claim(redis(), fn))).toEqual(['1', '3', '2']);
      expect(await ids(claim(redis(), fn))).toEqual([]);
    });

    it('gives the place of a settled job to the next in the same call', async () => {
      await enqueueLimited(redis(), fn, ['a', 'a']);
      await claim(redis(), fn);
      expect(await ids(claim(redis(), fn, { outcomes: success('1:1') }))).toEqual(['2']);
    });

    it.each([
      ['retry', '0', '{}'],
      ['snoozed', '0', ''],
      ['released', '', ''],
      ['error', 'message', '{}'],
    ])('frees the place of a job that ended as %s', async (...outcome) => {
      await enqueueLimited(redis(), fn, ['a', 'a']);
      await claim(redis(), fn);
      await redis().del(keysOf(fn).wake);
      await claim(redis(), fn, { slots: 0, outcomes: ['1:1', ...outcome], recover: 0 });
      expect(await readLimits(redis(), fn, NOW, 'a')).toMatchObject([{ running: 0, until: 0 }]);
      expect(await redis().llen(keysOf(fn).wake)).toBe(1);
    });

    it('frees the place of a job that lost its worker, and runs it first', async () => {
      await enqueueLimited(redis(), fn, ['a', 'a']);
      await claim(redis(), fn);
      const later = await claim(redis(), fn, { now: NOW + LEASE_MS + 1 });
      expect(later.claims).toMatchObject([{ id: '1', stalls: 1 }]);
    });

    it('frees the places of all jobs whose workers a call finds lost, also if there are more than it looks for again', async () => {
      const [JOBS, IN_A_CALL] = [250, 100];
      const keys = Array.from({ length: JOBS }, () => 'a');
      await enqueueLimited(redis(), fn, keys, { rules: `${JOBS}:::fair:` });
      while ((await claim(redis(), fn)).claims.length > 0);
      expect(await readLimits(redis(), fn, NOW, 'a')).toMatchObject([{ running: JOBS }]);
      await claim(redis(), fn, { now: NOW + LEASE_MS + 1, slots: 0 });
      expect(await readLimits(redis(), fn, NOW, 'a')).toMatchObject([{ running: JOBS - IN_A_CALL }]);
    });

    it('frees the place of a cancelled job', async () => {
      await enqueueLimited(redis(), fn, ['a', 'a']);
      await claim(redis(), fn);
      await claim(redis(), fn);
      await redis().del(keysOf(fn).wake);
      expect(await cancel(redis(), fn, '1')).toBe('cancelled');
      expect(await redis().llen(keysOf(fn).wake)).toBe(1);
      expect(await ids(claim(redis(), fn, { recover: 0 }))).toEqual(['2']);
    });

    it.each([
      ['its time', { score: (NOW + 50) / 1000 }],
      ['the turn of its key', {}],
    ])('lets a job be cancelled that waits for %s', async (_, placement) => {
      await enqueueLimited(redis(), fn, ['a'], placement);
      expect(await cancel(redis(), fn, '1')).toBe('cancelled');
      expect(await claim(redis(), fn, { now: NOW + 60 })).toMatchObject({ claims: [], dropped: [] });
      expect(await redis().exists(`${keysOf(fn).limits}later:a`, `${keysOf(fn).limits}due`)).toBe(0);
    });

    it('frees the place of a job whose hash was deleted', async () => {
      await enqueueLimited(redis(), fn, ['a', 'a']);
      await claim(redis(), fn);
      await redis().del(`${keysOf(fn).jobs}1`);
      expect(await ids(claim(redis(), fn, { outcomes: success('1:1') }))).toEqual(['2']);
    });

    it.each(['abc', '7:x', 'x:y:', '+3:7', '12'])(
      'runs a job with the id "%s" of a plain client again',
      async (id) => {
        await setLimit(redis(), fn, 'limit', '1:::strict:');
        await redis().hset(keysOf(fn).jobs + id, { status: 'idle', input: 'a', key: 'k:1' });
        await redis().lpush(keysOf(fn).normal, id);
        expect(await ids(claim(redis(), fn, { files: 1 }))).toEqual([id]);
        await claim(redis(), fn, { slots: 0, outcomes: [`${id}:1`, 'retry', '5', '{}'] });
        expect(await ids(claim(redis(), fn, { now: NOW + 5 }))).toEqual([id]);
      },
    );

    it('sets full keys aside, at which no claim looks until they have room', async () => {
      await enqueueLimited(redis(), fn, ['a', 'a']);
      await claim(redis(), fn);
      expect(await redis().exists(`${keysOf(fn).limits}ready:normal`)).toBe(0);
      expect(await redis().zcard(`${keysOf(fn).limits}parked`)).toBe(1);
    });

    it('claims nothing for a worker that knows a limit until its rules are stored', async () => {
      await enqueue(redis(), fn, ['a']);
      expect(await claim(redis(), fn, { files: 1 })).toMatchObject({ claims: [], lostRules: true });
      await setLimit(redis(), fn, 'limit', '1:::fair:');
      expect(await claim(redis(), fn, { files: 1 })).toMatchObject({
        unfiled: [{ id: '1' }],
        lostRules: false,
      });
    });

    it('frees the places whose leases were deleted, and runs their jobs again', async () => {
      await enqueueLimited(redis(), fn, ['a', 'a']);
      await claim(redis(), fn);
      await redis().del(keysOf(fn).leases);
      expect(await ids(claim(redis(), fn))).toEqual(['1']);
    });

    it('leaves nothing behind', async () => {
      await enqueueLimited(redis(), fn, ['a', 'b']);
      await claim(redis(), fn);
      await claim(redis(), fn, { outcomes: [...success('1:1'), ...success('2:1')] });
      const left = (await redis().keys(`limit:${fn}:*`)).sort();
      expect(left).toEqual([]);
    });
  });

  describe('rate', () => {
    const rules = ':2:1000:fair:';

    it('starts no more than max in any span', async () => {
      await enqueueLimited(redis(), fn, ['a', 'a', 'a'], { rules });
      const first = await claim(redis(), fn, { lease: 1e6 });
      expect(first.claims).toHaveLength(2);
      expect(first.wait).toBe(1001);
      expect(await ids(claim(redis(), fn, { now: NOW + 1000, lease: 1e6 }))).toEqual([]);
      expect(await ids(claim(redis(), fn, { now: NOW + 1001, lease: 1e6 }))).toEqual(['3']);
    });

    it('counts each start for a span of its own, and forgets it', async () => {
      await enqueueLimited(redis(), fn, ['a', 'a', 'a', 'a'], { rules });
      const started: string[][] = [];
      for (const later of [0, 600, 1001, 1600, 1601])
        started.push(await ids(claim(redis(), fn, { slots: 1, now: NOW + later, lease: 1e6 })));
      expect(started).toEqual([['1'], ['2'], ['3'], [], ['4']]);
      expect(await redis().pttl(`${keysOf(fn).limits}starts:a`)).toBeGreaterThan(0);
    });

    it('tells the leader when a key may start jobs again', async () => {
      await enqueueLimited(redis(), fn, ['a', 'a', 'a'], { rules });
      await claim(redis(), fn, { lease: 1e6 });
      await redis().del(keysOf(fn).wake);
      expect(await look(redis(), [fn], NOW + 400)).toMatchObject([{ wait: 601 }]);
      expect(await redis().llen(keysOf(fn).wake)).toBe(0);
      await look(redis(), [fn], NOW + 1001);
      expect(await redis().llen(keysOf(fn).wake)).toBe(1);
    });
  });

  describe('turns', () => {
    it('go from key to key within a priority', async () => {
      await enqueueLimited(redis(), fn, ['a', 'a', 'a', 'b', 'c', 'b'], { rules: '10:::fair:' });
      expect(await ids(claim(redis(), fn))).toEqual(['1', '4', '5', '2', '6', '3']);
    });

    it('go to a higher priority first', async () => {
      await enqueueLimited(redis(), fn, ['a'], { rules: '10:::fair:' });
      await enqueueLimited(redis(), fn, ['a'], { rules: '10:::fair:', priority: 'high' });
      expect(await ids(claim(redis(), fn))).toEqual(['2', '1']);
    });

    it('go to the job that was due first', async () => {
      await enqueueLimited(redis(), fn, ['a', 'a'], { rules: '10:::fair:' });
      await claim(redis(), fn);
      const outcomes = ['1:1', 'retry', '50', '{}', '2:1', 'retry', '40', '{}'];
      await claim(redis(), fn, { slots: 0, outcomes });
      expect(await ids(claim(redis(), fn, { now: NOW + 60 }))).toEqual(['2', '1']);
    });

    it('go to a higher priority first when jobs are due, too', async () => {
      const due = { score: (NOW + 50) / 1000 };
      await enqueueLimited(redis(), fn, ['a'], due);
      await enqueueLimited(redis(), fn, ['b'], { ...due, priority: 'high' });
      expect(await ids(claim(redis(), fn, { now: NOW + 50 }))).toEqual(['2', '1']);
    });

    it('are not held up by full keys', async () => {
      await enqueueLimited(redis(), fn, [...Array.from({ length: 50 }, () => 'full'), 'b']);
      expect(await ids(claim(redis(), fn))).toEqual(['1', '51']);
    });
  });

  describe('strict order', () => {
    const rules = ':::strict:';

    it('runs one job of a key at a time', async () => {
      await enqueueLimited(redis(), fn, ['a', 'a', 'b'], { rules });
      expect(await ids(claim(redis(), fn))).toEqual(['1', '3']);
      expect(await ids(claim(redis(), fn, { outcomes: success('1:1') }))).toEqual(['2']);
    });

    it('keeps the key for a job that waits for its retry', async () => {
      await enqueueLimited(redis(), fn, ['a', 'a'], { rules });
      await claim(redis(), fn);
      expect(await ids(claim(redis(), fn, { outcomes: ['1:1', 'retry', '50', '{}'] }))).toEqual([]);
      expect(await readLimits(redis(), fn)).toMatchObject([
        { key: 'a', running: 0, waiting: 1, holder: '1', until: -1 },
      ]);
      expect(await ids(claim(redis(), fn, { now: NOW + 50 }))).toEqual(['1']);
      expect(await ids(claim(redis(), fn, { now: NOW + 51, outcomes: success('1:2') }))).toEqual(['2']);
    });

    it('gives the turn to the job that holds the key before one with a higher priority', async () => {
      await enqueueLimited(redis(), fn, ['a'], { rules, priority: 'low' });
      await claim(redis(), fn);
      await enqueueLimited(redis(), fn, ['a'], { rules, priority: 'high' });
      await claim(redis(), fn, { slots: 0, outcomes: ['1:1', 'released', '', ''] });
      expect(await ids(claim(redis(), fn))).toEqual(['1']);
      expect(await ids(claim(redis(), fn, { outcomes: success('1:2') }))).toEqual(['2']);
    });

    it('goes on with jobs that began before it was strict, one at a time', async () => {
      await enqueueLimited(redis(), fn, ['a', 'a'], { rules: '10:::fair:' });
      await claim(redis(), fn);
      await setLimit(redis(), fn, 'limit', rules);
      await claim(redis(), fn, { outcomes: ['1:1', 'released', '', ''] });
      const released = ['1:2', 'released', '', '', '2:1', 'released', '', ''];
      await claim(redis(), fn, { slots: 0, outcomes: released });
      expect(await ids(claim(redis(), fn))).toEqual(['1']);
      const next = await claim(redis(), fn, { outcomes: success('1:3') });
      expect(next).toMatchObject({ claims: [{ id: '2' }], dropped: [] });
    });

    it('lets the key go when the hash of a job was deleted that holds it and waits for its turn', async () => {
      await enqueueLimited(redis(), fn, ['a', 'a'], { rules });
      await claim(redis(), fn, { slots: 1 });
      await claim(redis(), fn, { slots: 0, outcomes: ['1:1', 'released', '', ''] });
      await redis().del(`${keysOf(fn).jobs}1`);
      expect(await ids(claim(redis(), fn, { recover: 0 }))).toEqual(['2']);
    });

    it('keeps the key for a job that runs and stands in the list a second time', async () => {
      await enqueueLimited(redis(), fn, ['a', 'a'], { rules });
      await redis().rpush(`limit:${fn}:wait:normal:a`, '1');
      expect(await claim(redis(), fn)).toMatchObject({ claims: [{ id: '1' }], dropped: ['1'] });
      expect(await ids(claim(redis(), fn))).toEqual([]);
      expect(await ids(claim(redis(), fn, { outcomes: success('1:1') }))).toEqual(['2']);
    });

    it('keeps the key for a job that runs and is due a second time', async () => {
      await enqueueLimited(redis(), fn, ['a', 'a'], { rules });
      await claim(redis(), fn);
      await redis().zadd(`limit:${fn}:due`, NOW + 1, '1:a');
      expect(await ids(claim(redis(), fn, { now: NOW + 2 }))).toEqual([]);
      expect(await ids(claim(redis(), fn, { now: NOW + 2, outcomes: success('1:1') }))).toEqual(['2']);
    });

    it('puts the job that holds the key to the front, and leaves it nowhere else', async () => {
      await enqueueLimited(redis(), fn, ['a', 'a'], { rules });
      await redis().hset(`limit:${fn}:holders`, 'a', '2');
      await claim(redis(), fn, { slots: 0 });
      await expect(redis().lrange(`limit:${fn}:wait:normal:a`, 0, -1)).resolves.toEqual(['1', '2']);
    });

    it('lets the key go when the job that holds it is cancelled, or its hash deleted', async () => {
      await enqueueLimited(redis(), fn, ['a', 'a', 'a'], { rules });
      await claim(redis(), fn);
      await claim(redis(), fn, { outcomes: ['1:1', 'retry', '50', '{}'] });
      await cancel(redis(), fn, '1');
      expect(await ids(claim(redis(), fn, { lease: 1e6 }))).toEqual(['2']);
      await claim(redis(), fn, { outcomes: ['2:1', 'retry', '50', '{}'] });
      await redis().del(`${keysOf(fn).jobs}2`);
      expect(await ids(claim(redis(), fn, { now: NOW + 50 }))).toEqual(['3']);
    });
  });

  describe('a job without a key', () => {
    it('is claimed for its key, without a slot and without an attempt', async () => {
      await setLimit(redis(), fn, 'limit', '1:::fair:');
      await enqueue(redis(), fn, ['x', 'y']);
      const { claims, unfiled } = await claim(redis(), fn, { slots: 1, files: 1 });
      expect(claims).toEqual([]);
      expect(unfiled).toMatchObject([{ id: '1' }, { id: '2' }]);
      const filed = await claim(redis(), fn, {
        files: 1,
        outcomes: ['1:1', 'filed', 'a', '', '2:1', 'filed', 'a', ''],
      });
      expect(filed.claims).toMatchObject([{ id: '1', attempts: 1, token: 2 }]);
      expect(await text('2', 'attempts')).toBe('0');
    });

    it.each(['high', 'normal', 'low', 'scheduled'] as const)(
      'is found in %s while the limit has no other',
      async (queue) => {
        await setLimit(redis(), fn, 'limit', '1:::fair:');
        await enqueue(redis(), fn, ['x'], { queue, score: queue === 'scheduled' ? 1 : '' });
        expect(await ids(claim(redis(), fn))).toEqual(['1']);
      },
    );

    it('runs as any other on a worker that has no limit', async () => {
      await setLimit(redis(), fn, 'limit', '1:::fair:');
      await enqueue(redis(), fn, ['x', 'y']);
      expect(await ids(claim(redis(), fn))).toEqual(['1', '2']);
    });
  });

  describe('a full key', () => {
    it('refuses jobs, all of a call', async () => {
      const rules = { rules: '2:::fair:', onFull: 'refuse' };
      expect(await enqueueLimited(redis(), fn, ['a', 'b', 'a', 'a'], rules)).toEqual({ key: 'a' });
      expect(await redis().get(keysOf(fn).ids)).toBe('0');
      expect(await enqueueLimited(redis(), fn, ['a', 'b', 'a'], rules)).toBe(3);
      expect(await enqueueLimited(redis(), fn, ['a'], rules)).toEqual({ key: 'a' });
    });

    it('says when a rate has room again', async () => {
      const rules = { rules: ':1:1000:fair:', onFull: 'refuse' };
      await enqueueLimited(redis(), fn, ['a'], rules);
      await claim(redis(), fn, { lease: 1e6 });
      expect(await enqueueLimited(redis(), fn, ['a'], { ...rules, now: NOW + 10 })).toEqual({
        key: 'a',
        until: NOW + 1001,
      });
      expect(await enqueueLimited(redis(), fn, ['a'], { ...rules, now: NOW + 1001 })).toBe(2);
    });

    it('says when a rate has room again behind those that wait', async () => {
      const rules = { rules: ':2:1000:fair:', onFull: 'refuse' };
      await enqueueLimited(redis(), fn, ['a'], rules);
      await claim(redis(), fn, { lease: 1e6 });
      expect(await enqueueLimited(redis(), fn, ['a'], rules)).toBe(2);
      const again = { ...rules, now: NOW + 10 };
      expect(await enqueueLimited(redis(), fn, ['a'], again)).toEqual({ key: 'a', until: NOW + 1001 });
    });

    it.each([
      [':::strict:', 1],
      [':2:1000:fair:', 2],
      ['2:::fair:', 2],
    ])('with the rules %s refuses more jobs than %d that wait', async (rules, most) => {
      const refuse = { rules, onFull: 'refuse' };
      for (let count = 1; count <= most; count++)
        expect(await enqueueLimited(redis(), fn, ['a'], refuse)).toBe(count);
      expect(await enqueueLimited(redis(), fn, ['a'], refuse)).toEqual({ key: 'a' });
    });

    it('has one job that waits, however many were replaced, and a place once that one was', async () => {
      const replace = { onFull: 'replace' };
      await enqueueLimited(redis(), fn, ['a'], replace);
      await claim(redis(), fn);
      for (const _ of [1, 2, 3]) await enqueueLimited(redis(), fn, ['a'], replace);
      expect(await readLimits(redis(), fn)).toMatchObject([{ key: 'a', running: 1, waiting: 1 }]);
      const told: string[] = [];
      const worker = redis().duplicate();
      try {
        worker.on('message', (_, member: string) => told.push(member));
        await worker.subscribe(`cancel:${fn}`);
        await enqueueLimited(redis(), fn, ['a'], { onFull: 'replace-running' });
        await worker.ping();
      } finally {
        worker.disconnect();
      }
      expect(told).toEqual(['1:1']);
      expect(await readLimits(redis(), fn)).toMatchObject([{ key: 'a', running: 0, waiting: 1 }]);
    });

    it('keeps a job that waits where there is room for both', async () => {
      const replace = { rules: '2:::fair:', onFull: 'replace' };
      for (const _ of [1, 2]) await enqueueLimited(redis(), fn, ['a'], replace);
      expect(await ids(claim(redis(), fn))).toEqual(['1', '2']);
    });

    it('gets the job instead of those that wait', async () => {
      const replace = { rules: '1:::fair:', onFull: 'replace' };
      await enqueueLimited(redis(), fn, ['a', 'b', 'b'], replace);
      await claim(redis(), fn, { slots: 1 });
      await enqueueLimited(redis(), fn, ['a'], replace);
      await enqueueLimited(redis(), fn, ['a'], replace);
      expect(await Promise.all(['1', '2', '3', '4', '5'].map((id) => text(id, 'status')))).toEqual([
        'busy',
        'error',
        'idle',
        'error',
        'idle',
      ]);
      await enqueueLimited(redis(), fn, ['a'], { ...replace, onFull: 'replace-running' });
      expect(await text('1', 'status')).toBe('error');
      expect(await ids(claim(redis(), fn))).toEqual(expect.arrayContaining(['6', '3']));
    });
  });

  describe('a held key', () => {
    it('starts nothing until then, and runs the job again without an attempt', async () => {
      await enqueueLimited(redis(), fn, ['a', 'a'], { rules: '10:::fair:' });
      await claim(redis(), fn, { slots: 1 });
      expect(await ids(claim(redis(), fn, { outcomes: ['1:1', 'held', '50', ''] }))).toEqual([]);
      const again = await claim(redis(), fn, { now: NOW + 51 });
      expect(again.claims).toMatchObject([{ id: '1', attempts: 1 }, { id: '2' }]);
      expect(await redis().exists(`${keysOf(fn).limits}holds`)).toBe(0);
    });
  });

  describe('changed numbers', () => {
    it('hold at once, until they are taken back', async () => {
      await enqueueLimited(redis(), fn, ['a', 'a', 'a', 'a']);
      await claim(redis(), fn, { lease: 1e6 });
      await claim(redis(), fn, { lease: 1e6 });
      expect(await setLimit(redis(), fn, 'override', '3::')).toBe('done');
      expect(await ids(claim(redis(), fn, { lease: 1e6 }))).toEqual(['2', '3']);
      await setLimit(redis(), fn, 'override', '');
      expect(await ids(claim(redis(), fn, { lease: 1e6, outcomes: success('1:1') }))).toEqual([]);
    });

    it('are refused for a function without a limit', async () => {
      expect(await setLimit(redis(), fn, 'override', '3::')).toBe('unknown');
    });
  });

  describe('a shared limit', () => {
    it('counts the jobs of all its functions, and wakes the other', async () => {
      const other = `${fn}other`;
      const shared = { rules: `:::fair:${fn}`, shared: '1::' };
      await enqueueLimited(redis(), fn, ['a', 'a'], shared);
      await enqueueLimited(redis(), other, ['a'], shared);
      expect(await ids(claim(redis(), fn))).toEqual(['1']);
      expect(await ids(claim(redis(), other))).toEqual([]);
      await redis().del(keysOf(fn).wake, keysOf(other).wake);
      await claim(redis(), fn, { slots: 0, outcomes: success('1:1') });
      expect(await redis().llen(keysOf(other).wake)).toBe(1);
      expect(await ids(claim(redis(), other))).toEqual(['1']);
      expect(await ids(claim(redis(), fn))).toEqual([]);
    });
  });

  it('an enqueue wakes a worker for a key with room, and tells of each job', async () => {
    const log = await ChannelLog.open(redis(), fn);
    try {
      await enqueueLimited(redis(), fn, ['a', 'a', 'b']);
    } finally {
      expect(await log.close()).toEqual(['create:1', 'create:2', 'create:3']);
    }
    expect(await redis().llen(keysOf(fn).wake)).toBe(1);
  });

  it('an enqueue changes no rules that are stored', async () => {
    await enqueueLimited(redis(), fn, ['a'], { rules: '2:::fair:' });
    await enqueueLimited(redis(), fn, ['a', 'a'], { rules: '1:::fair:' });
    expect(await ids(claim(redis(), fn))).toEqual(['1', '2']);
  });

  it('a list of keys has those that run jobs, and no more than were asked for', async () => {
    await enqueueLimited(redis(), fn, ['a', 'b', 'c'], { rules: '2:::fair:' });
    await claim(redis(), fn);
    const listed = ((await readLimits(redis(), fn)) ?? []).map(({ key, running }) => [key, running]);
    expect(listed.toSorted()).toEqual([
      ['a', 1],
      ['b', 1],
      ['c', 1],
    ]);
    const { control, limits, jobs, wake } = keysOf(fn);
    const two = await limitScripts.readLimits.run(redis(), [control, limits, jobs, wake], NOW, 2, 0, '');
    expect(two).toHaveLength(2);
  });

  it('a sent-again enqueue creates nothing', async () => {
    const last = await enqueueLimited(redis(), fn, ['a'], { call: 5, sender: 's' });
    expect(await enqueueLimited(redis(), fn, ['a'], { call: 5, sender: 's' })).toBe(last);
    expect(await redis().get(keysOf(fn).ids)).toBe('1');
  });

  it('a scheduled job waits for its time, then for its turn', async () => {
    await enqueueLimited(redis(), fn, ['a'], { score: (NOW + 50) / 1000 });
    await enqueueLimited(redis(), fn, ['a']);
    expect((await claim(redis(), fn)).claims).toMatchObject([{ id: '2' }]);
    expect(await ids(claim(redis(), fn, { now: NOW + 50 }))).toEqual([]);
    expect(await redis().exists(`${keysOf(fn).limits}due`)).toBe(0);
    expect(await ids(claim(redis(), fn, { now: NOW + 51, outcomes: success('2:1') }))).toEqual(['1']);
  });
});
