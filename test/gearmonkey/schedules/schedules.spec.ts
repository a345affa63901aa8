import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { GearMonkeyClient } from '../../../lib/gearmonkey/client.js';
import type {
  ScheduleOptions,
  ScheduleChanges,
} from '../../../lib/gearmonkey/features/schedules/recur-options.js';
import { defineJob } from '../../../lib/job/job-definition.js';
import { memoryScheduleRig, redisScheduleRig, Schedules } from './schedule-rig.js';

const NINE = '0 9 * * *';
const SLOT = (day: number, hour = 9) => `2026-11-${day}T${String(hour).padStart(2, '0')}:00:00.000Z`;

describe.each([
  ['memory', memoryScheduleRig],
  ['GearMonkey', redisScheduleRig],
])('schedules: %s', (_, setup) => {
  let schedules: Schedules;
  let client: GearMonkeyClient;
  let fn: string;
  let id: string;

  beforeAll(async () => {
    schedules = new Schedules(await setup());
    client = schedules.client();
  });
  afterAll(() => schedules.rig.close());

  /** A schedule that is made on 22 November at 8 o'clock. */
  async function made(options: Partial<ScheduleOptions> = {}): Promise<void> {
    fn = schedules.rig.fn();
    id = `schedule-${fn}`;
    schedules.setTime('2026-11-22T08:00Z');
    const times = 'every' in options ? {} : { cron: NINE };
    await client.recur(fn, { id, ...times, ...options });
  }

  it('create one job at each time, with the input, the slot and the one before', async () => {
    await made({ input: { to: 'all' }, headers: { tenant: 'acme' } });
    await schedules.tickAt(fn, '2026-11-22T08:59:59.999Z');
    expect(await schedules.jobs(fn)).toEqual([]);
    await schedules.tickAt(fn, '2026-11-22T09:00Z', '2026-11-22T09:00:30Z', '2026-11-23T09:00:01Z');
    expect(await schedules.jobs(fn)).toMatchObject([
      {
        state: 'waiting',
        input: { to: 'all' },
        headers: { tenant: 'acme' },
        times: { scheduled: new Date(SLOT(22)) },
        recurring: { id, slot: new Date(SLOT(22)) },
      },
      { recurring: { id, slot: new Date(SLOT(23)), previous: new Date(SLOT(22)) } },
    ]);
    await expect(client.schedules.get(id)).resolves.toMatchObject({
      ...{ id, fn, cron: NINE, timezone: 'UTC', input: { to: 'all' }, created: 2, paused: false },
      ...{ next: new Date(SLOT(24)), previous: new Date(SLOT(23)), catchUp: 'last', ifRunning: 'queue' },
      lastJob: (await schedules.jobs(fn))[1]?.id,
    });
  });

  it('create a job once, however many workers try, and in the order of their slots', async () => {
    await made({ cron: '*/5 * * * *', catchUp: 'all' });
    schedules.setTime('2026-11-22T12:00Z');
    await schedules.tick(fn, 10);
    const slots = await schedules.slots(fn);
    expect(slots).toHaveLength(48);
    expect(slots).toEqual([...new Set(slots)].toSorted());
  });

  it.each([
    ['last', [SLOT(25)]],
    ['skip', []],
    ['all', [SLOT(22), SLOT(23), SLOT(24), SLOT(25)]],
  ] as const)('that were not ticked for days catch up: %s', async (catchUp, slots) => {
    await made({ catchUp });
    await schedules.tickAt(fn, '2026-11-25T10:00Z');
    expect(await schedules.slots(fn)).toEqual(slots);
    await expect(client.schedules.next(id)).resolves.toEqual([new Date(SLOT(26))]);
  });

  it('that skip what was missed create a job that is only a little late', async () => {
    await made({ catchUp: 'skip', cron: '* * * * *' });
    await schedules.tickAt(fn, '2026-11-22T08:10:59Z');
    expect(await schedules.slots(fn)).toEqual(['2026-11-22T08:10:00.000Z']);
  });

  it('count `every` from when they were made, also if they are made again and ticked late', async () => {
    await made({ every: '10m', catchUp: 'all' });
    await schedules.tickAt(fn, '2026-11-22T08:10:09Z', '2026-11-22T08:25Z');
    await client.recur(fn, { id, every: 600_000, catchUp: 'all' });
    await schedules.tickAt(fn, '2026-11-22T08:30:01Z');
    expect(await schedules.slots(fn)).toEqual(
      [10, 20, 30].map((minute) => `2026-11-22T08:${minute}:00.000Z`),
    );
  });

  it('begin and end when they are told', async () => {
    await made({ from: new Date(SLOT(24)), until: new Date(SLOT(25)) });
    await schedules.tickAt(fn, SLOT(23), SLOT(24), SLOT(25), SLOT(26));
    expect(await schedules.slots(fn)).toEqual([SLOT(24), SLOT(25)]);
    expect((await client.schedules.get(id))?.next).toBeUndefined();
    await expect(client.schedules.next(id)).resolves.toEqual([]);
  });

  it('create no more jobs than their limit, also if they are made again', async () => {
    await made({ limit: 3, catchUp: 'all' });
    await expect(client.schedules.next(id, 10)).resolves.toHaveLength(3);
    await schedules.tickAt(fn, SLOT(22), SLOT(30));
    await client.recur(fn, { id, cron: NINE, limit: 3, catchUp: 'all' });
    await schedules.tickAt(fn, '2026-12-30T12:00Z');
    expect(await schedules.slots(fn)).toEqual([SLOT(22), SLOT(23), SLOT(24)]);
    expect((await client.schedules.get(id))?.next).toBeUndefined();
    await client.schedules.update(id, { limit: 4 });
    await schedules.tickAt(fn, '2026-12-31T12:00Z');
    expect(await schedules.slots(fn)).toHaveLength(4);
  });

  it('count towards their limit only ticks that created a job: one that is skipped is none', async () => {
    await made({ limit: 2, ifRunning: 'skip' });
    await schedules.tickAt(fn, SLOT(22), SLOT(23), SLOT(24));
    await expect(client.schedules.get(id)).resolves.toMatchObject({ created: 1, next: new Date(SLOT(25)) });
    await expect(client.schedules.next(id, 9)).resolves.toEqual([new Date(SLOT(25))]);
    await schedules.rig.finish(fn, '1');
    await schedules.tickAt(fn, SLOT(25), SLOT(26));
    expect(await schedules.slots(fn)).toEqual([SLOT(22), SLOT(25)]);
    expect((await client.schedules.get(id))?.next).toBeUndefined();
  });

  it.each(['all', 'last'] as const)('do so with a unique key, and catch up: %s', async (catchUp) => {
    fn = schedules.rig.fn();
    schedules.setTime('2026-11-22T08:00Z');
    const definition = defineJob(fn, { unique: { key: 'one', while: 'unfinished' } });
    await client.recur(definition, { id: fn, cron: NINE, limit: 2, catchUp });
    await schedules.tickAt(fn, SLOT(24), SLOT(25));
    await schedules.rig.finish(fn, '1');
    await schedules.tickAt(fn, SLOT(26));
    await schedules.rig.finish(fn, '2');
    await schedules.tickAt(fn, SLOT(27));
    expect(await schedules.slots(fn)).toEqual([catchUp === 'all' ? SLOT(22) : SLOT(24), SLOT(26)]);
  });

  it('spread their jobs over the jitter', async () => {
    await made({ jitter: '1h', catchUp: 'all', cron: '0 * * * *' });
    await schedules.tickAt(fn, '2026-11-23T08:00Z');
    const jobs = await schedules.jobs(fn);
    const late = jobs.map(({ times, recurring }) => Number(times.scheduled) - Number(recurring?.slot));
    expect(late).toHaveLength(24);
    expect(Math.min(...late)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...late)).toBeLessThan(3_600_000);
    expect(new Set(late).size).toBeGreaterThan(12);
  });

  it('create none while the last job waits or runs, if they are told', async () => {
    await made({ ifRunning: 'skip' });
    await schedules.tickAt(fn, SLOT(22), SLOT(23), SLOT(24));
    expect(await schedules.slots(fn)).toEqual([SLOT(22)]);
    await schedules.rig.finish(fn, '1');
    await schedules.tickAt(fn, SLOT(25), SLOT(26));
    expect(await schedules.slots(fn)).toEqual([SLOT(22), SLOT(25)]);
    expect((await schedules.jobs(fn))[1]?.recurring?.previous).toEqual(new Date(SLOT(22)));
  });

  it('give their jobs the options that jobs have, and the expiry of their definition', async () => {
    fn = schedules.rig.fn();
    schedules.setTime('2026-11-22T08:00Z');
    const definition = defineJob<string>(fn, { expires: '1h' });
    await client.recur(definition, {
      id: fn,
      cron: NINE,
      input: 'x',
      retry: { attempts: 3 },
      jobTimeout: '5s',
    });
    await schedules.tickAt(fn, '2026-11-22T09:00:05Z');
    expect(await schedules.jobs(fn)).toMatchObject([{ times: { expires: new Date(SLOT(22, 10)) } }]);
  });

  it.each([
    ['unfinished', { while: 'unfinished' }, [SLOT(22), SLOT(24)]],
    ['waiting', { while: 'waiting' }, [SLOT(22), SLOT(24)]],
    ['throttle', { throttle: '25h' }, [SLOT(22), SLOT(24)]],
  ] as const)('keep to the unique key of their definition: %s', async (__, rule, slots) => {
    fn = schedules.rig.fn();
    schedules.setTime('2026-11-22T08:00Z');
    const definition = defineJob<{ shop: number }>(fn, {
      unique: { key: ({ shop }) => `shop ${shop}`, ...rule },
    });
    const other = await client.run(definition, { shop: 2 });
    expect(other.created).toBe(true);
    await client.recur(definition, { id: fn, cron: NINE, input: { shop: 1 } });
    await schedules.tickAt(fn, SLOT(22), SLOT(23));
    await schedules.rig.finish(fn, '2');
    await schedules.tickAt(fn, SLOT(24));
    expect((await schedules.slots(fn)).slice(1)).toEqual(slots);
    const again = await client.run(definition, { shop: 1 });
    expect(again.created).toBe(false);
    await expect(client.schedules.runNow(fn)).resolves.toMatchObject({ created: false, id: again.id });
  });

  it('are not debounced by their definition', async () => {
    fn = schedules.rig.fn();
    schedules.setTime('2026-11-22T08:00Z');
    const definition = defineJob(fn, { unique: { key: 'one', debounce: '48h' } });
    await client.recur(definition, { id: fn, cron: NINE });
    await schedules.tickAt(fn, SLOT(22), SLOT(23));
    expect(await schedules.slots(fn)).toEqual([SLOT(22), SLOT(23)]);
  });

  it('go on after a pause without what was missed meanwhile', async () => {
    await made({ catchUp: 'all' });
    await expect(client.schedules.pause(id)).resolves.toMatchObject({ paused: true });
    await schedules.tickAt(fn, SLOT(22), SLOT(23));
    await client.recur(fn, { id, cron: NINE, catchUp: 'all' });
    await schedules.tickAt(fn, SLOT(24));
    await expect(client.schedules.resume(id)).resolves.toMatchObject({
      paused: false,
      next: new Date(SLOT(25)),
    });
    await schedules.tickAt(fn, SLOT(25));
    expect(await schedules.slots(fn)).toEqual([SLOT(25)]);
  });

  it('create no jobs once they are removed', async () => {
    await made();
    await expect(client.schedules.remove(id)).resolves.toBe(true);
    await expect(client.schedules.remove(id)).resolves.toBe(false);
    await schedules.tickAt(fn, SLOT(22));
    expect(await schedules.slots(fn)).toEqual([]);
    await expect(client.schedules.get(id)).resolves.toBeNull();
    await expect(client.schedules.list(fn)).resolves.toEqual([]);
    await expect(client.schedules.update(id, { limit: 2 })).rejects.toMatchObject({
      code: 'SCHEDULE_NOT_FOUND',
    });
  });

  it('change in the options that are given', async () => {
    await made({ input: 'x', limit: 5, headers: { a: 'b' } });
    const changed = await client.schedules.update(id, {
      cron: '0 7 * * *',
      timezone: 'Asia/Tokyo',
      limit: null,
    });
    expect(changed).toMatchObject({
      cron: '0 7 * * *',
      timezone: 'Asia/Tokyo',
      next: new Date(SLOT(22, 22)),
      input: 'x',
    });
    expect(changed.limit).toBeUndefined();
    await expect(client.schedules.update(id, { every: '1h', input: { y: 1 } })).resolves.toMatchObject({
      ...{ every: 3_600_000, input: { y: 1 }, next: new Date(SLOT(22)) },
    });
    await expect(client.schedules.update(id, { cron: NINE })).resolves.toMatchObject({
      cron: NINE,
      timezone: 'UTC',
    });
    await schedules.tickAt(fn, SLOT(22));
    expect(await schedules.jobs(fn)).toMatchObject([{ input: { y: 1 }, headers: { a: 'b' } }]);
  });

  it('keep a tick that is due when their times change, if the new times have it too', async () => {
    await made();
    schedules.setTime('2026-11-22T09:00:02Z');
    await client.schedules.update(id, { cron: '0 9 * * 0-5' });
    await schedules.tick(fn);
    expect(await schedules.slots(fn)).toEqual([SLOT(22)]);
  });

  it('keep their next tick when anything but their times changes', async () => {
    await made();
    schedules.setTime('2026-11-23T09:30Z');
    await client.recur(fn, { id, cron: NINE, input: 'new' });
    await schedules.tick(fn);
    expect(await schedules.jobs(fn)).toMatchObject([
      { input: 'new', recurring: { slot: new Date(SLOT(23)) } },
    ]);
  });

  it('are made once by many processes that start at the same time', async () => {
    fn = schedules.rig.fn();
    schedules.setTime('2026-11-22T08:00Z');
    const options = { id: fn, every: '10m', input: 'x' };
    const all = await Promise.all(Array.from({ length: 20 }, () => schedules.client().recur(fn, options)));
    expect(new Set(all.map(({ next }) => next?.getTime())).size).toBe(1);
    await expect(client.schedules.list(fn)).resolves.toHaveLength(1);
  });

  it('are changed by several clients at the same time without losing a change', async () => {
    await made({ catchUp: 'all' });
    const headers = Array.from({ length: 8 }, (__, index) => ({ limit: 50 + index }));
    await Promise.all([
      ...headers.map((change) => client.schedules.update(id, change)),
      client.schedules.update(id, { jitter: '1s' }),
      schedules.tickAt(fn, SLOT(22)),
    ]);
    await expect(client.schedules.get(id)).resolves.toMatchObject({ jitter: 1000, next: new Date(SLOT(23)) });
    expect(await schedules.slots(fn)).toEqual([SLOT(22)]);
  });

  it('do not go back when the clock of the server does', async () => {
    await made({ cron: '0 * * * *' });
    await schedules.tickAt(fn, SLOT(22, 9), SLOT(22, 10));
    await schedules.tickAt(fn, SLOT(22, 9), '2026-11-22T09:30Z', SLOT(22, 10));
    await client.schedules.update(id, { cron: '0,30 * * * *' });
    await schedules.tickAt(fn, '2026-11-22T10:29Z', '2026-11-22T10:30Z');
    expect(await schedules.slots(fn)).toEqual([SLOT(22, 9), SLOT(22, 10), '2026-11-22T10:30:00.000Z']);
  });

  it('make up for an hour by which the clock jumps forward as they are told', async () => {
    await made({ cron: '*/20 * * * *', catchUp: 'all' });
    await schedules.tickAt(fn, '2026-11-22T08:20Z', '2026-11-22T09:20Z');
    expect(await schedules.slots(fn)).toHaveLength(4);
  });

  it('run a job at once, beside those of their times', async () => {
    await made({ input: 'now', limit: 1 });
    const job = await client.schedules.runNow(id);
    await expect(job.get()).resolves.toMatchObject({
      ...{ fn, input: 'now', state: 'waiting', recurring: { id, slot: new Date(SLOT(22, 8)) } },
    });
    await schedules.tickAt(fn, SLOT(22));
    expect(await schedules.slots(fn)).toEqual([SLOT(22, 8), SLOT(22)]);
  });

  it('belong to one function', async () => {
    await made();
    await expect(client.recur(`${fn}-other`, { id, cron: NINE })).rejects.toMatchObject({
      code: 'SCHEDULE_EXISTS',
      fn,
    });
    await client.schedules.remove(id);
    await expect(client.recur(`${fn}-other`, { id, cron: NINE })).resolves.toMatchObject({
      fn: `${fn}-other`,
    });
  });

  it('belong to one of two functions that make them at the same time; the other is refused', async () => {
    for (let round = 0; round < 200; round++) {
      const fns = [schedules.rig.fn(), schedules.rig.fn()];
      const options = { id: `both-${fns[0]}`, cron: NINE };
      const ends = await Promise.allSettled(fns.map((each) => schedules.client().recur(each, options)));
      const refused = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason as unknown] : []));
      expect(refused).toEqual([expect.objectContaining({ code: 'SCHEDULE_EXISTS', id: options.id })]);
      const winner = ends[0]?.status === 'fulfilled' ? 0 : 1;
      const lists = await Promise.all(fns.map((each) => client.schedules.list(each)));
      expect(lists.map((list) => list.length)).toEqual(winner === 0 ? [1, 0] : [0, 1]);
      await expect(client.schedules.get(options.id)).resolves.toMatchObject({ fn: fns[winner] });
      await client.schedules.remove(options.id);
    }
  });

  it('are in the index if they are removed and made at the same time', async () => {
    for (let round = 0; round < 50; round++) {
      await made();
      const other = schedules.rig.fn();
      await Promise.allSettled([
        client.schedules.remove(id),
        client.recur(fn, { id, cron: '0 8 * * *' }),
        client.recur(other, { id, cron: NINE }),
      ]);
      const found = [...(await client.schedules.list(fn)), ...(await client.schedules.list(other))];
      expect(found.length).toBeLessThanOrEqual(1);
      const known = await client.schedules.get(id);
      expect(known?.fn).toBe(found[0]?.fn);
      await client.schedules.remove(id);
    }
  });

  it('take an id whose entry in the index is left over', async () => {
    await made();
    const { schedules: store } = schedules.rig.store();
    await store.enter('left-over', '', fn);
    await expect(client.schedules.get('left-over')).resolves.toBeNull();
    await expect(client.recur(`${fn}-other`, { id: 'left-over', cron: NINE })).resolves.toMatchObject({
      fn: `${fn}-other`,
    });
    await client.schedules.remove('left-over');
    await store.enter('left-over', '', fn);
    await expect(client.schedules.remove('left-over')).resolves.toBe(false);
    expect((await store.index()).has('left-over')).toBe(false);
  });

  it('are all listed if there are many', async () => {
    fn = schedules.rig.fn();
    schedules.setTime('2026-11-22T08:00Z');
    const ids = Array.from({ length: 1500 }, (__, index) => `many-${String(index).padStart(4, '0')}`);
    await Promise.all(ids.map((each) => client.recur(fn, { id: each, cron: NINE })));
    expect((await client.schedules.list(fn)).map((each) => each.id)).toEqual(ids);
    const read: number[] = [];
    for await (const page of schedules.rig.store().schedules.pages(fn)) read.push(page.length);
    if (_ !== 'memory') expect(Math.max(...read)).toBeLessThan(400);
    await schedules.tickAt(fn, SLOT(22));
    expect((await client.schedules.list(fn)).every(({ created }) => created === 1)).toBe(true);
  });

  it('are listed by id, for a function or for all', async () => {
    await made();
    await client.recur(fn, { id: `a-${id}`, every: '1m' });
    const ids = (await client.schedules.list(fn)).map((each) => each.id);
    expect(ids).toEqual([`a-${id}`, id]);
    const all = (await client.schedules.list()).map((each) => each.id);
    expect(all).toEqual(expect.arrayContaining(ids));
    expect(all).toEqual(all.toSorted());
  });

  it('are only those of its functions for a client that is restricted', async () => {
    await made();
    const restricted = client.only([defineJob(`${fn}-mine`)]);
    await restricted.recur(`${fn}-mine`, { id: `${id}-mine`, cron: NINE });
    expect((await restricted.schedules.list()).map((each) => each.id)).toEqual([`${id}-mine`]);
    await expect(restricted.schedules.get(id)).rejects.toMatchObject({ code: 'UNKNOWN_FUNCTION' });
    await expect(restricted.schedules.remove(id)).rejects.toMatchObject({ code: 'UNKNOWN_FUNCTION' });
    await expect(client.schedules.get(id)).resolves.not.toBeNull();
  });

  it('keep bytes that are not text', async () => {
    fn = schedules.rig.fn();
    const definition = defineJob<{ bytes: Uint8Array }>(fn, { codec: 'msgpack' });
    const input = { bytes: new Uint8Array([0, 255, 128]) };
    const options = { id: fn, every: '1h', input };
    await expect(client.recur(definition, options)).resolves.toMatchObject({ input });
    client.register(definition);
    await client.schedules.update(fn, { limit: 5 });
    await expect(client.schedules.get(fn)).resolves.toMatchObject({ input });
  });

  const REFUSED: readonly [option: string, options: object][] = [
    ['until', { cron: NINE, from: new Date('2026-11-23T10:00Z'), until: new Date('2026-11-23T11:00Z') }],
    ['from', { cron: NINE, from: new Date(8.64e15) }],
    ['cron', { cron: '* * * *' }],
    ['cron', { cron: '0 24 * * *' }],
    ['cron', { cron: '0 0 32 * *' }],
    ['cron', { cron: '0 0 0 * *' }],
    ['cron', { cron: '0 0 * 13 *' }],
    ['cron', { cron: '0 0 * * 9' }],
    ['cron', { cron: '-1 * * * *' }],
    ['cron', { cron: '*/-1 * * * *' }],
    ['cron', { cron: '*/100000000 * * * *' }],
    ['cron', { cron: '5-1 * * * *' }],
    ['cron', { cron: '1,,2 * * * *' }],
    ['cron', { cron: '1- * * * *' }],
    ['cron', { cron: '/5 * * * *' }],
    ['cron', { cron: '0 0 31 4 +1' }],
    ['cron', { cron: '0 0 31W 2 *' }],
    ['cron', { cron: '0 0 * * 1#6' }],
    ['cron', { cron: '@every 5s' }],
    ['cron', { cron: '@daily @daily' }],
    ['cron', { cron: '0 9 * * FOO' }],
    ['cron', { cron: '1e9 * * * *' }],
    ['cron', { cron: '0x10 * * * *' }],
    ['cron', { cron: 'CRON_TZ=Asia/Tokyo 0 9 * * *' }],
    ['cron', { cron: '0 0 0 1 1 * 2020' }],
    ['cron', { cron: 'H * * * *' }],
    ['cron', { cron: [NINE] }],
    ['cron', { cron: { toString: () => NINE } }],
    ['cron', { cron: '61 * * * * *', seconds: true }],
    ['seconds', { cron: NINE, seconds: 1 }],
    ['seconds', { every: '1h', seconds: false }],
    ['timezone', { cron: NINE, timezone: '../../etc/localtime' }],
    ['timezone', { cron: NINE, timezone: 'x'.repeat(1_000_000) }],
    ['timezone', { cron: NINE, timezone: ['UTC'] }],
    ['timezone', { cron: NINE, timezone: null }],
    ['every', { every: -1000 }],
    ['every', { every: 1e300 }],
    ['every', { every: Infinity }],
    ['every', { every: '999ms' }],
    ['every', { every: '200y' }],
    ['every', { every: '1h'.repeat(100_000) }],
    ['every', { every: 10n }],
    ['from', { every: '1h', from: 5 }],
    ['from', { every: '1h', from: null }],
    ['until', { every: '1h', from: new Date(2000), until: new Date(1999) }],
    ['limit', { cron: NINE, limit: '5' }],
    ['limit', { cron: NINE, limit: Infinity }],
    ['limit', { cron: NINE, limit: 2 ** 60 }],
    ['catchUp', { cron: NINE, catchUp: true }],
    ['ifRunning', { cron: NINE, ifRunning: null }],
    ['jitter', { cron: NINE, jitter: '101 years' }],
    ['jitter', { cron: NINE, jitter: Number.NaN }],
    ['expires', { cron: NINE, expires: 'x' }],
    ['jobTimeout', { cron: NINE, jobTimeout: -1 }],
    ['id', { cron: NINE, id: 5 }],
    ['id', { cron: NINE, id: 'a\u0000b' }],
    ['id', { cron: NINE, id: '\ud800' }],
    ['id', { cron: NINE, id: 'é'.repeat(101) }],
    ['cron', { cron: '0 0 30 2 *' }],
    ['cron', { cron: '0 0 31 2,4,6,9,11 *' }],
    ['cron', { cron: '* * * * * *' }],
    ['cron', { cron: '*/10 * * * *', seconds: true }],
    ['cron', { cron: '1--100000000 * * * *' }],
    ['cron', { cron: `${'1,'.repeat(100_000)}1 * * * *` }],
    ['cron', { cron: '60 * * * *' }],
    ['cron', { cron: '*/0 * * * *' }],
    ['cron', { cron: 'tomorrow at nine' }],
    ['cron', { cron: '' }],
    ['cron', { cron: '@reboot' }],
    ['cron', { cron: '@daily', seconds: true }],
    ['cron', { cron: '2026-12-01T00:00:00' }],
    ['cron', { cron: 5 }],
    ['cron', { cron: null }],
    ['cron', {}],
    ['cron', { cron: NINE, every: '1h' }],
    ['seconds', { cron: NINE, seconds: 'true' }],
    ['timezone', { cron: NINE, timezone: 'Europe/Berlyn' }],
    ['timezone', { cron: NINE, timezone: '' }],
    ['timezone', { cron: NINE, timezone: '+02:00' }],
    ['timezone', { every: '1h', timezone: 'UTC' }],
    ['every', { every: 999 }],
    ['every', { every: '0s' }],
    ['every', { every: '1' }],
    ['every', { every: Number.NaN }],
    ['until', { cron: NINE, from: new Date(2000), until: new Date(1000) }],
    ['until', { cron: NINE, until: new Date(Number.NaN) }],
    ['from', { cron: NINE, from: '2027-01-01' }],
    ['limit', { cron: NINE, limit: 0 }],
    ['limit', { cron: NINE, limit: 1.5 }],
    ['catchUp', { cron: NINE, catchUp: 'none' }],
    ['ifRunning', { cron: NINE, ifRunning: 'wait' }],
    ['jitter', { cron: NINE, jitter: -1 }],
    ['expires', { cron: NINE, expires: 0 }],
    ['retry.backoff', { cron: NINE, retry: { attempts: 2, backoff: () => 1 } }],
    ['id', { cron: NINE, id: '' }],
    ['id', { cron: NINE, id: 'a b' }],
    ['id', { cron: NINE, id: 'x'.repeat(201) }],
    ['id', { cron: NINE, id: undefined }],
  ];
  it.each(REFUSED)('are refused at once for a wrong `%s`: %p', async (option, options) => {
    fn = schedules.rig.fn();
    const refused = client.recur(fn, { id: fn, ...options } as ScheduleOptions);
    await expect(refused).rejects.toMatchObject({ code: 'INVALID_OPTION', option });
    await expect(client.schedules.list(fn)).resolves.toEqual([]);
  });

  it('are refused with an unknown option', async () => {
    const options = { id: 'x', cron: NINE, timeZone: 'UTC' } as ScheduleOptions;
    await expect(client.recur('fn', options)).rejects.toThrow('Did you mean `timezone`?');
    await made();
    const changes = { crons: NINE } as ScheduleChanges;
    await expect(client.schedules.update(id, changes)).rejects.toThrow('Did you mean `cron`?');
    await expect(client.schedules.update(id, { cron: '0 0 30 2 *' })).rejects.toMatchObject({
      option: 'cron',
    });
    await expect(client.schedules.update(id, { cron: null })).rejects.toMatchObject({ option: 'cron' });
    await expect(client.schedules.get(id)).resolves.toMatchObject({ cron: NINE });
  });
});
