import { describe, expect, it } from '@jest/globals';
import { openConnections } from '../../../lib/gearmonkey/redis-connections.js';
import { RedisSchedules } from '../../../lib/gearmonkey/features/schedules/redis-schedules.js';
import { tickDue } from '../../../lib/gearmonkey/features/schedules/tick.js';
import { keysOf } from '../../../lib/gearmonkey/core/wire/protocol.js';
import type { RunningJob } from '../../../lib/worker/running-job.js';
import { useGearMonkey } from '../use-gearmonkey.js';
import { runWorker } from '../../support/run-worker.js';
import { eventually } from '../../support/until.js';

describe('schedules that another program has written', () => {
  const rig = useGearMonkey();

  const BROKEN: readonly [what: string, fields: (id: string) => Record<string, string>][] = [
    ['no JSON', (id) => ({ [`spec:${id}`]: 'no JSON', [`version:${id}`]: '1', [`slot:${id}`]: 'a' })],
    ['JSON without a time', (id) => ({ [`spec:${id}`]: '{"input":"1"}', [`version:${id}`]: '1' })],
    ['a bad pattern', (id) => ({ [`spec:${id}`]: '{"cron":"bogus","input":"1"}', [`version:${id}`]: '1' })],
    [
      'a time zone that this worker does not know',
      (id) => ({
        [`spec:${id}`]: '{"cron":"* * * * *","timezone":"Mars/Olympus","input":"1"}',
        [`version:${id}`]: '1',
      }),
    ],
    ['null', (id) => ({ [`spec:${id}`]: 'null' })],
    ['nothing but a tick', () => ({ other: 'field' })],
  ];

  it.each(BROKEN)('do not keep others from running, and cost little: %s', async (_, fields) => {
    const fn = rig.fn();
    await rig.redis.hset(`schedules:${fn}`, fields('bad'));
    await rig.redis.zadd(`ticks:${fn}`, 1, 'bad');
    await rig.client.recur(fn, { id: `${fn}-good`, every: '1s', input: 'good' });
    const ran: RunningJob[] = [];
    const problems: string[] = [];
    const source = rig.source({ onProblem: (message) => problems.push(message) });
    const before = await scriptCalls();
    await runWorker(source, fn, (__, job) => ran.push(job));
    await eventually(() => expect(ran.length).toBeGreaterThanOrEqual(3));
    expect(ran.map(({ input }) => input)).toEqual(ran.map(() => 'good'));
    expect((await scriptCalls()) - before).toBeLessThan(100);
    const said = problems.filter((line) => line.includes('bad'));
    expect(said).toEqual(
      _ === 'nothing but a tick' ? [] : [expect.stringContaining(`schedule "bad" of "${fn}"`)],
    );
    await rig.client.schedules.remove(`${fn}-good`);
  });

  const SPEC = { cron: '* * * * *', timezone: 'UTC', input: '1' };
  const MALFORMED: readonly [what: string, spec: unknown, problem: string][] = [
    ['an array', [], 'no JSON object'],
    ['no input', { cron: '* * * * *' }, '`input`'],
    ['an input that is no text', { ...SPEC, input: { a: 1 } }, '`input`'],
    ['neither of the times', { input: '1' }, '`cron`'],
    ['both of the times', { ...SPEC, every: 1000, anchor: 0 }, '`cron`'],
    ['an `every` of text', { every: '1s', input: '1' }, '`every`'],
    ['a very short `every`', { every: 1e-300, input: '1' }, '`every`'],
    ['a very long `every`', { every: 1e300, input: '1' }, '`every`'],
    ['a negative `every`', { every: -1000, input: '1' }, '`every`'],
    ['a huge anchor', { every: 1000, anchor: 1e300, input: '1' }, '`anchor`'],
    ['a `from` of text', { ...SPEC, from: 'tomorrow' }, '`from`'],
    ['a huge `until`', { ...SPEC, until: 1e16 }, '`until`'],
    ['a limit of text', { ...SPEC, limit: 'x' }, '`limit`'],
    ['a limit of 0', { ...SPEC, limit: 0 }, '`limit`'],
    ['a jitter of text', { ...SPEC, jitter: '5m' }, '`jitter`'],
    ['an expiry of text', { ...SPEC, expires: '5m' }, '`expires`'],
    ['an unknown `catchUp`', { ...SPEC, catchUp: 'some' }, '`catchUp`'],
    ['an unknown `ifRunning`', { ...SPEC, ifRunning: 'wait' }, '`ifRunning`'],
    ['options of text', { ...SPEC, options: 'x' }, '`options`'],
    ['a unique key that is no text', { ...SPEC, unique: { key: 5, kind: 'waiting' } }, '`unique`'],
    ['a throttle without a span', { ...SPEC, unique: { key: 'a', kind: 'throttle' } }, '`unique`'],
    ['a span of text', { ...SPEC, unique: { key: 'a', kind: 'throttle', span: 'x' } }, '`unique`'],
    ['a pause of text', { ...SPEC, paused: 'yes' }, '`paused`'],
    ['an app of text', { ...SPEC, app: 'shop' }, '`app`'],
    ['an app without a version', { ...SPEC, app: { name: 'shop' } }, '`app`'],
    ['a time zone that is no text', { ...SPEC, timezone: 5 }, '`timezone`'],
    ['an unknown time zone', { ...SPEC, timezone: 'Mars/Olympus' }, 'Mars/Olympus'],
    ['a pattern that is no text', { ...SPEC, cron: 5 }, '`cron`'],
    ['a hostile pattern', { ...SPEC, cron: '1--100000000 * * * *' }, 'CronPattern'],
    ['a long pattern', { ...SPEC, cron: `${'1,'.repeat(100_000)}1 * * * *` }, 'characters'],
    ['a pattern of six fields', { ...SPEC, cron: '* * * * * *' }, 'CronPattern'],
    ['much text', 'x'.repeat(3_000_000), 'no JSON object'],
  ];

  it('are listed with what is wrong, logged once, removed, and hold up no other', async () => {
    const fn = rig.fn();
    const { client, redis } = rig;
    for (const [index, [, spec]] of MALFORMED.entries()) {
      const id = `${fn}-bad-${index}`;
      await redis.hset(`schedules:${fn}`, { [`spec:${id}`]: JSON.stringify(spec), [`version:${id}`]: 'x' });
      await redis.zadd(`ticks:${fn}`, index + 1, id);
      await redis.hset('schedules', id, fn);
    }
    await client.recur(fn, { id: `${fn}-good`, every: '1s', input: 'good' });
    const ran: RunningJob[] = [];
    const problems: string[] = [];
    await runWorker(rig.source({ onProblem: (message) => problems.push(message) }), fn, (_, job) =>
      ran.push(job),
    );
    await eventually(() => expect(ran.length).toBeGreaterThanOrEqual(3), { timeout: 30_000 });
    expect(new Set(ran.map(({ recurring }) => recurring?.id))).toEqual(new Set([`${fn}-good`]));
    const said = problems.filter((line) => line.includes('-bad-'));
    expect(said).toHaveLength(5);
    expect(problems.filter((line) => line.includes('more schedules'))).toHaveLength(1);

    const listed = new Map((await client.schedules.list()).map((each) => [each.id, each]));
    for (const [index, [what, , problem]] of MALFORMED.entries()) {
      const id = `${fn}-bad-${index}`;
      expect([what, listed.get(id)?.problem]).toEqual([
        what,
        expect.stringMatching(new RegExp(problem, 'i')),
      ]);
      await expect(client.schedules.get(id)).resolves.toMatchObject({ id, fn, problem: expect.any(String) });
      if (problem.startsWith('`'))
        await expect(client.schedules.pause(id)).rejects.toMatchObject({ code: 'MALFORMED_SCHEDULE' });
      expect(JSON.stringify(listed.get(id))).toContain(fn);
      await expect(client.schedules.remove(id)).resolves.toBe(true);
    }
    await client.schedules.remove(`${fn}-good`);
    await expect(client.schedules.list(fn)).resolves.toEqual([]);
  });

  it('are many and due, and others behind them run in time', async () => {
    const fn = rig.fn();
    const many = Array.from({ length: 300 }, (_, index) => `bad-${index}`);
    await rig.redis.hset(`schedules:${fn}`, Object.fromEntries(many.map((id) => [`spec:${id}`, '{}'])));
    for (const id of many) await rig.redis.zadd(`ticks:${fn}`, 1, id);
    await rig.client.recur(fn, { id: `${fn}-good`, every: '1s', catchUp: 'all' });
    const ran: RunningJob[] = [];
    await runWorker(rig.source(), fn, (_, job) => ran.push(job));
    await eventually(() => expect(ran.length).toBeGreaterThanOrEqual(3), { timeout: 30_000 });
    await rig.client.schedules.remove(`${fn}-good`);
  });

  it('with a slot, a time or numbers that none has', async () => {
    const fn = rig.fn();
    const spec = JSON.stringify({ cron: '* * * * * *', seconds: true, input: '1' });
    const fields = { slot: 'zzz', version: 'v', made: '-5', previous: 'x', job: 'y' };
    for (const [id, score] of [
      ['a', '1'],
      ['b', '-inf'],
      ['c', '1e17'],
      ['d', '+inf'],
    ] as const) {
      const own = Object.entries(fields).map(([name, value]) => [`${name}:${id}`, value]);
      await rig.redis.hset(`schedules:${fn}`, { [`spec:${id}`]: spec, ...Object.fromEntries(own) });
      await rig.redis.zadd(`ticks:${fn}`, score, id);
    }
    const ran: RunningJob[] = [];
    await runWorker(rig.source(), fn, (_, job) => ran.push(job));
    await eventually(() => expect(ran.length).toBeGreaterThanOrEqual(3), { timeout: 30_000 });
    expect(new Set(ran.map(({ recurring }) => recurring?.id))).toEqual(new Set(['a']));
    const listed = await rig.client.schedules.list(fn);
    expect(listed.map(({ problem }) => problem)).toEqual([
      undefined,
      ...['b', 'c', 'd'].map(() => expect.stringContaining('next time')),
    ]);
    await expect(rig.client.schedules.remove('a')).resolves.toBe(false);
    for (const id of 'abcd') await expect(rig.client.schedules.remove(id, fn)).resolves.toBe(true);
  });

  it('in place of all schedules of a function keep no other from being listed', async () => {
    const [fn, other] = [rig.fn(), rig.fn()];
    await rig.redis.set(`schedules:${fn}`, 'x');
    await rig.redis.hset('schedules', `lost-${fn}`, fn);
    await rig.client.recur(other, { id: other, every: '1h' });
    const listed = await rig.client.schedules.list();
    expect(listed).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ id: other }),
        expect.objectContaining({ id: `lost-${fn}`, fn, problem: expect.stringContaining('WRONGTYPE') }),
      ]),
    );
    await rig.client.schedules.remove(other);
    await rig.redis.hdel('schedules', `lost-${fn}`);
  });

  it('with inputs of many megabytes are read in steps', async () => {
    const fn = rig.fn();
    const input = JSON.stringify('x'.repeat(300_000));
    for (let index = 0; index < 20; index++) {
      const spec = JSON.stringify({ every: 3_600_000, anchor: 0, input });
      await rig.redis.hset(`schedules:${fn}`, `spec:large-${index}`, spec);
      await rig.redis.zadd(`ticks:${fn}`, 3_600_000, `large-${index}`);
    }
    const listed = await rig.client.schedules.list(fn);
    expect(listed).toHaveLength(20);
    expect(listed.every(({ problem }) => problem === undefined)).toBe(true);
    let ran = 0;
    await runWorker(rig.source(), fn, () => (ran += 1));
    await eventually(() => expect(ran).toBe(20), { timeout: 30_000 });
  });

  it('without a version are ticked once, if nothing else is wrong', async () => {
    const fn = rig.fn();
    const anchor = Date.now() - 500;
    const spec = JSON.stringify({ every: 3_600_000, anchor, input: '"from afar"' });
    await rig.redis.hset(`schedules:${fn}`, 'spec:afar', spec);
    await rig.redis.zadd(`ticks:${fn}`, anchor, 'afar');
    const ran: RunningJob[] = [];
    await runWorker(rig.source(), fn, (__, job) => ran.push(job));
    await eventually(() => expect(ran).toHaveLength(1));
    expect(ran[0]).toMatchObject({ input: 'from afar', recurring: { id: 'afar', slot: new Date(anchor) } });
    await expect(rig.redis.zscore(`ticks:${fn}`, 'afar')).resolves.toBe(String(anchor + 3_600_000));
  });

  it('whose keys have another type stop no jobs', async () => {
    const fn = rig.fn();
    await rig.redis.set(`ticks:${fn}`, 'x');
    await rig.redis.set(`schedules:${fn}`, 'x');
    await runWorker(rig.source(), fn, () => 'done');
    await expect(rig.client.call(fn, 'x', { timeout: '10s' })).resolves.toBe('done');
    await expect(rig.client.recur(fn, { id: fn, every: '1h' })).rejects.toThrow('WRONGTYPE');
  });

  async function scriptCalls(): Promise<number> {
    const stats = await rig.redis.info('commandstats');
    return Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1] ?? 0);
  }
});

describe('a server that is restored from a backup', () => {
  const rig = useGearMonkey();

  it.each([
    ['last', ['2026-11-24']],
    ['skip', []],
    ['all', ['2026-11-23', '2026-11-24']],
  ] as const)('goes on from what it knows: %s', async (catchUp, expected) => {
    const fn = rig.fn();
    let now = Date.parse('2026-11-22T08:00Z');
    const { commands, hub, close } = openConnections(rig.url);
    const ask = <T>(_: unknown, __: unknown, question: Parameters<typeof commands.insist<T>>[0]) =>
      commands.insist(question);
    const schedules = new RedisSchedules({ keysOf, ask, now: () => now });
    const tickAt = async (time: string) => {
      now = Date.parse(time);
      await tickDue(schedules, fn);
    };
    const spec = { cron: '0 9 * * *', timezone: 'UTC', input: '1', catchUp };
    const next = { time: Date.parse('2026-11-22T09:00Z'), label: '2026-11-22T09:00:00' };
    await schedules.write(
      fn,
      'a',
      { version: '', slot: '' },
      { spec: JSON.stringify(spec), version: '1', next },
    );
    await tickAt('2026-11-22T09:00:01Z');
    const backup = await Promise.all(
      (await rig.redis.keys(`*${fn}*`)).map(async (key) => [key, await rig.redis.dumpBuffer(key)] as const),
    );
    await tickAt('2026-11-23T09:00:01Z');
    await rig.redis.del(...(await rig.redis.keys(`*${fn}*`)));
    for (const [key, dump] of backup) if (dump) await rig.redis.restore(key, 0, dump);
    await tickAt('2026-11-24T12:00Z');
    await tickAt('2026-11-24T12:00:05Z');
    const slots = await Promise.all(
      (await rig.redis.keys(`job:${fn}:*`)).map(async (key) => {
        const { recurring } = JSON.parse((await rig.redis.hget(key, 'options')) ?? '') as {
          recurring: { slot: number };
        };
        return new Date(recurring.slot).toISOString().slice(0, 10);
      }),
    );
    expect(slots.toSorted()).toEqual(['2026-11-22', ...expected]);
    hub.close();
    commands.close();
    close();
  });
});
