import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { diagnose } from '../../lib/doctor/diagnose.js';
import type { Finding } from '../../lib/gearmonkey/core/examination.js';
import { keysOf, type FunctionKeys } from '../../lib/gearmonkey/core/wire/protocol.js';
import { defineJob, defineLimit } from '../../lib/index.js';
import { RedisConnection } from '../../lib/redis/redis-connection.js';
import { useGearMonkey } from '../gearmonkey/use-gearmonkey.js';
import { useRedisServer } from '../support/use-redis.js';
import { runWorker, stopWorkers } from '../support/run-worker.js';
import { until } from '../support/until.js';

const LONG_AGO_MS = 120_000;
const STATES = ['success', 'failed', 'cancelled'] as const;

describe('doctor, of indexes', () => {
  const rig = useGearMonkey(useRedisServer());
  let connection: RedisConnection;
  beforeAll(async () => {
    connection = new RedisConnection(rig.url, 'commands');
    await rig.redis.config('SET', 'appendonly', 'yes');
  });
  afterAll(() => connection.close());

  const longAgo = () => Date.now() - LONG_AGO_MS;
  const findingsOf = async (...functions: string[]) =>
    (await diagnose(connection, { keysOf, slowScript: 3_600_000, functions })).findings;
  const codesOf = async (...functions: string[]) => (await findingsOf(...functions)).map(({ code }) => code);
  const fix = async (findings: readonly Finding[]) => {
    for (const finding of findings) await finding.fix?.apply();
  };

  /** The one finding of these functions, with this title; its repair ends it. */
  async function expectMended(code: string, title: string, ...functions: string[]): Promise<void> {
    const findings = await findingsOf(...functions);
    expect(findings).toEqual([expect.objectContaining({ code, fn: functions[0] })]);
    expect(findings[0]?.title).toContain(title);
    await fix(findings);
    await expect(codesOf(...functions)).resolves.toEqual([]);
  }

  /** Jobs 1 to 3 that ended long ago: as success, failed and cancelled. */
  async function ended(): Promise<{ fn: string; k: FunctionKeys }> {
    const fn = rig.fn();
    const k = keysOf(fn);
    await rig.client.pause(fn);
    await rig.client.runMany(fn, ['good', 'bad', 'unwanted']);
    await rig.client.cancel(fn, 3);
    await rig.client.resume(fn);
    await runWorker(rig.source(), fn, (input) => {
      if (input === 'bad') throw new Error('as asked');
    });
    await until(async () => (await rig.client.get(fn, 2))?.state === 'failed');
    await until(async () => (await rig.client.get(fn, 1))?.state === 'succeeded');
    const at = longAgo();
    for (const [index, state] of STATES.entries()) {
      await rig.redis.hset(`${k.jobs}${index + 1}`, { created: at, finished: at });
      await rig.redis.zadd(k.ended + state, at, index + 1);
    }
    await expect(codesOf(fn)).resolves.toEqual([]);
    return { fn, k };
  }

  it.each(STATES)(
    'finds LISTED_WRONGLY for entries of jobs that are not %s or are gone, and removes these',
    async (state) => {
      const { fn, k } = await ended();
      const id = STATES.indexOf(state) + 1;
      await rig.redis.hset(`${k.jobs}${id}`, 'status', 'idle');
      await rig.redis.zadd(k.ended + state, Date.now(), '17');
      // As a worker does when it trims the list.
      await rig.redis.expire(k.ended + state, 93_600);
      const findings = await findingsOf(fn);
      expect(findings.find(({ code }) => code === 'LISTED_WRONGLY')?.title).toContain(`${id}, 17`);
      await rig.redis.del(`${k.jobs}${id}`);
      await fix(findings);
      await expect(rig.redis.zrange(k.ended + state, '0', '-1')).resolves.toEqual([]);
      await expect(codesOf(fn)).resolves.toEqual([]);
    },
  );

  it('leaves an entry whose job has expired to those who trim the list', async () => {
    const { fn, k } = await ended();
    await rig.redis.del(`${k.jobs}1`);
    await rig.redis.expire(`${k.ended}success`, 3600);
    await expect(codesOf(fn)).resolves.toEqual([]);
  });

  it('leaves an entry whose job has been retried and ended again since', async () => {
    const { fn, k } = await ended();
    const last = Date.now();
    await rig.redis.zadd(`${k.ended}success`, last - 60_000, '1');
    const findings = await findingsOf(fn);
    expect(findings.map(({ code }) => code)).toEqual(['LISTED_WRONGLY']);
    await rig.redis.hset(`${k.jobs}1`, 'finished', last);
    await rig.redis.zadd(`${k.ended}success`, last, '1');
    await fix(findings);
    await expect(rig.redis.zrange(`${k.ended}success`, '0', '-1')).resolves.toEqual(['1']);
  });

  it('finds ENDED_NOT_LISTED, and lists these jobs', async () => {
    const { fn, k } = await ended();
    for (const state of STATES) await rig.redis.del(k.ended + state);
    await expectMended('ENDED_NOT_LISTED', '3 sampled jobs', fn);
    const { jobs } = await rig.client.list(fn, { state: 'failed' });
    expect(jobs.map(({ id }) => id).toSorted()).toEqual(['2', '3']);
    expect(await rig.redis.ttl(`${k.ended}success`)).toBeGreaterThan(80_000);
  });

  it('finds TAGS_NOT_INDEXED, and adds the tags', async () => {
    const fn = rig.fn();
    await rig.client.pause(fn);
    for (const id of [1, 2]) {
      await rig.client.run(fn, id, { tags: ['order:7', 'é'] });
      await rig.redis.hset(`job:${fn}:${id}`, 'created', longAgo());
    }
    await expect(codesOf(fn)).resolves.toEqual([]);
    await rig.redis.zremrangebyrank(`tags:${fn}`, 0, 0);
    await expectMended('TAGS_NOT_INDEXED', '1 sampled jobs', fn);
    await rig.redis.del(`tags:${fn}`);
    await expectMended('TAGS_NOT_INDEXED', '2 sampled jobs', fn);
    const { jobs } = await rig.client.find(fn, { tag: 'é' });
    expect(jobs.map(({ id }) => id).toSorted()).toEqual(['1', '2']);
    expect(await rig.redis.ttl(`tags:${fn}`)).toBeGreaterThan(86_400);
  });

  describe.each([
    ['of its own', false],
    ['that another function shares', true],
  ])('of a function with a limit %s', (_, isShared) => {
    const job = () => {
      const fn = rig.fn();
      const key = (input: string) => input;
      const limit = isShared
        ? { key, shared: defineLimit(`limit-of-${fn}`, { concurrency: 1 }) }
        : { key, concurrency: 1 };
      return defineJob<string>(fn, { limit });
    };
    const spaceOf = (fn: string) => (isShared ? `shared-limit:limit-of-${fn}:` : keysOf(fn).limits);

    /** A key with one job that runs, and one that waits, both for a while. */
    async function busy() {
      const definition = job();
      const fn = definition.name;
      const [first] = await rig.client.runMany(definition, ['a', 'a']);
      await runWorker(
        rig.source(),
        definition,
        (_input, { signal }) =>
          new Promise((_resolve, reject) =>
            signal.addEventListener('abort', () => reject(new Error('over'))),
          ),
      );
      await until(async () => (await first?.get())?.state === 'running');
      for (const id of [1, 2]) await rig.redis.hset(`job:${fn}:${id}`, 'created', longAgo());
      await expect(codesOf(fn)).resolves.toEqual([]);
      return { definition, fn };
    }

    it('finds LIMIT_PLACE_LEFT where a claim is over, and frees its place', async () => {
      const { definition, fn } = await busy();
      const k = keysOf(fn);
      await stopWorkers();
      // The function's places and a claim were deleted before a worker could recover it.
      const marked = `${isShared ? k.limits : ''}77:1`;
      const space = spaceOf(fn);
      await rig.redis.sadd(`${space}running:a`, marked);
      await rig.redis.zadd(`${space}parked`, '+inf', 'a');
      if (isShared) await rig.redis.sadd(`${space}users:a`, `${k.limits}\n${k.wake}`);
      for (const priority of ['high', 'normal', 'low'])
        await rig.redis.zrem(`${k.limits}ready:${priority}`, 'a');
      const findings = (await findingsOf(fn)).filter(({ code }) => code !== 'NO_WORKER');
      expect(findings).toEqual([
        expect.objectContaining({ code: 'LIMIT_PLACE_LEFT', severity: 'error', fn }),
      ]);
      await fix(findings);
      const ran: unknown[] = [];
      await runWorker(rig.source(), definition, (input) => ran.push(input));
      await until(() => ran.length === 2);
      await expect(codesOf(fn)).resolves.toEqual([]);
    });

    it('finds KEY_WITHOUT_TURN, and gives it one', async () => {
      const definition = job();
      const fn = definition.name;
      const k = keysOf(fn);
      await rig.client.run(definition, 'a');
      await rig.redis.hset(`job:${fn}:1`, 'created', longAgo());
      await rig.redis.del(`${k.limits}ready:normal`);
      const findings = (await findingsOf(fn)).filter(({ code }) => code !== 'NO_WORKER');
      expect(findings).toEqual([
        expect.objectContaining({ code: 'KEY_WITHOUT_TURN', severity: 'error', fn }),
      ]);
      await fix(findings);
      await runWorker(rig.source(), definition, () => 'done');
      await expect(rig.client.result(definition, 1)).resolves.toBe('done');
      await expect(codesOf(fn)).resolves.toEqual([]);
    });

    it('finds WAITING_IN_NO_QUEUE, which the remedy ends', async () => {
      const definition = job();
      const fn = definition.name;
      const k = keysOf(fn);
      await rig.client.run(definition, 'a');
      await rig.client.run(definition, 'b', { delay: '1h' });
      for (const id of [1, 2]) await rig.redis.hset(`job:${fn}:${id}`, 'created', longAgo());
      await runWorker(rig.source(), rig.fn(), () => 'of another function');
      const codes = async () => (await codesOf(fn)).filter((code) => code !== 'NO_WORKER');
      await expect(codes()).resolves.toEqual([]);
      await rig.redis.del(`${k.limits}wait:normal:a`);
      await expect(codes()).resolves.toEqual(['WAITING_IN_NO_QUEUE']);
      await rig.redis.hdel(`job:${fn}:1`, 'key');
      await rig.redis.lpush(k.normal, '1');
      await expect(codes()).resolves.toEqual([]);
      await runWorker(rig.source(), definition, () => 'done');
      await expect(rig.client.result(definition, 1)).resolves.toBe('done');
    });
  });

  it.each(['unique', 'retrying', 'tags', 'ended'] as const)('finds WRONG_TYPE of %s', async (name) => {
    const fn = rig.fn();
    const key = keysOf(fn)[name] + (name === 'ended' ? 'failed' : '');
    await rig.redis.set(key, 'text');
    await expect(codesOf(fn)).resolves.toEqual(['WRONG_TYPE']);
    await rig.redis.del(key);
    await expect(codesOf(fn)).resolves.toEqual([]);
  });

  it('says that it could not see a limit whose keys have another type, and sees the rest', async () => {
    const fn = rig.fn();
    const k = keysOf(fn);
    await rig.client.run(defineJob<string>(fn, { limit: { key: (input) => input, concurrency: 1 } }), 'a');
    await rig.client.run(fn, 'without a key', { tags: ['t'] });
    for (const id of [1, 2]) await rig.redis.hset(`job:${fn}:${id}`, 'created', longAgo());
    await rig.redis.set(`${k.limits}parked`, 'text');
    await rig.redis.del(k.tags);
    const { findings, skipped } = await diagnose(connection, {
      keysOf,
      functions: [fn],
      slowScript: 3_600_000,
    });
    expect(findings.map(({ code }) => code)).toEqual(expect.arrayContaining(['TAGS_NOT_INDEXED']));
    expect(skipped).toEqual([expect.objectContaining({ what: 'limits of functions' })]);
  });
});
