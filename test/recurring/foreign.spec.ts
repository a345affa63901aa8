import { describe, expect, it } from '@jest/globals';
import { openConnections } from '../../lib/gearmonkey/redis-connections.js';
import { RedisSchedules } from '../../lib/gearmonkey/recurring/redis-schedules.js';
import { tickDue } from '../../lib/gearmonkey/recurring/tick.js';
import { keysOf } from '../../lib/gearmonkey/wire/protocol.js';
import type { RunningJob } from '../../lib/worker/running-job.js';
import { useGearMonkey } from '../gearmonkey/use-gearmonkey.js';
import { runWorker } from '../support/run-worker.js';
import { eventually } from '../support/until.js';

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
