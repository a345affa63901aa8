import { afterEach, describe, expect, it } from '@jest/globals';
import type { RedisSource } from '../../lib/gearmonkey/redis-source.js';
import type { Claim } from '../../lib/job/job-source.js';
import { claimUpTo, retry, success } from '../contract/claiming.js';
import { SlowLine } from '../support/slow-line.js';
import { eventually } from '../support/until.js';
import { useRedisServer } from '../support/use-redis.js';
import { RedisActors, submit } from './redis-rig.js';

const MEGABYTE = 'x'.repeat(1_000_000);

describe('Outcomes', () => {
  const server = useRedisServer();
  const ends: (() => unknown)[] = [];
  afterEach(async () => {
    for (const end of ends.splice(0).reverse()) await end();
  });

  function sourceAt(url: string, problems: string[] = []): RedisSource {
    const actors = new RedisActors(url);
    ends.push(() => actors.close());
    return actors.source({ onProblem: (problem) => problems.push(problem) });
  }

  async function claims(source: RedisSource, fn: string, count: number): Promise<Claim[]> {
    for (let i = 0; i < count; i++) await submit(server.redis, fn, 'x');
    const claimed: Claim[] = [];
    while (claimed.length < count) claimed.push(...(await claimUpTo(source, fn, count - claimed.length)));
    return claimed;
  }

  const statuses = (fn: string, ids: readonly string[]) =>
    Promise.all(ids.map((id) => server.redis.hget(`job:${fn}:${id}`, 'status')));

  it('of megabytes each arrive once over a slow line', async () => {
    const fn = server.fn();
    const line = await SlowLine.start(server.port);
    ends.push(() => line.stop());
    const source = sourceAt(line.url);
    const held = await claims(source, fn, 12);
    const finished: string[] = [];
    const subscriber = server.redis.duplicate();
    ends.push(() => subscriber.disconnect());
    subscriber.on('message', (_, text: string) => text.startsWith('finish:') && finished.push(text));
    await subscriber.subscribe(`channel:${fn}`);
    line.throttle({ bandwidth: 20 });
    await expect(source.settle(held.map((claim) => success(claim, MEGABYTE)))).resolves.toEqual([]);
    await eventually(() => expect(finished).toHaveLength(held.length));
    expect(new Set(finished).size).toBe(held.length);
  });

  it('that the server never accepts are given up alone and logged', async () => {
    const fn = server.fn();
    const problems: string[] = [];
    const source = sourceAt(server.url, problems);
    const held = await claims(source, fn, 20);
    const culprit = held[7] as Claim;
    const outcomes = held.map((claim) =>
      claim === culprit ? retry(claim, 'soon' as unknown as number) : success(claim),
    );
    await expect(source.settle(outcomes)).resolves.toEqual([culprit]);
    const others = held.filter((claim) => claim !== culprit).map(({ id }) => id);
    await expect(statuses(fn, others)).resolves.toEqual(others.map(() => 'success'));
    expect(problems).toContainEqual(
      expect.stringMatching(`The outcome of job ${culprit.id} of "${fn}" can't be stored: ERR`),
    );
  });

  it('wait for rights that are revoked for a while', async () => {
    const fn = server.fn();
    await server.redis.acl('SETUSER', 'worker', 'on', '>pw', '~*', '&*', '+@all');
    const problems: string[] = [];
    const source = sourceAt(`redis://worker:pw@127.0.0.1:${server.port}`, problems);
    const held = await claims(source, fn, 5);
    await server.redis.acl('SETUSER', 'worker', '-evalsha');
    const settled = source.settle(held.map((claim) => success(claim)));
    await eventually(() => expect(problems).toContainEqual(expect.stringContaining('NOPERM')));
    await server.redis.acl('SETUSER', 'worker', '+evalsha');
    await expect(settled).resolves.toEqual([]);
    expect(problems).toHaveLength(1);
  });

  it.each(['hset', 'expire', 'zadd'])(
    'wait for a revoked right that only their script needs: %s',
    async (right) => {
      const fn = server.fn();
      await server.redis.acl('SETUSER', 'worker', 'reset', 'on', '>pw', '~*', '&*', '+@all');
      const problems: string[] = [];
      const source = sourceAt(`redis://worker:pw@127.0.0.1:${server.port}`, problems);
      const [first, ...others] = await claims(source, fn, 3);
      await server.redis.acl('SETUSER', 'worker', `-${right}`);
      const settled = source.settle([
        ...others.map((claim) => success(claim)),
        retry(first as Claim, 3_600_000),
      ]);
      await eventually(() => expect(problems.length).toBeGreaterThan(0));
      await server.redis.acl('SETUSER', 'worker', `+${right}`);
      await expect(settled).resolves.toEqual([]);
      await expect(statuses(fn, ['1', '2', '3'])).resolves.toEqual(['idle', 'success', 'success']);
      await expect(server.redis.zrange(`queue:${fn}:scheduled`, '0', '-1')).resolves.toEqual(['1']);
      await expect(server.redis.exists(`lease:${fn}`)).resolves.toBe(0);
      expect(await server.redis.ttl(`job:${fn}:2`)).toBeGreaterThan(0);
    },
  );

  it.each(['hset', 'hmget', 'zadd'])(
    'are not lost while claims wait for a revoked right: %s',
    async (right) => {
      const fn = server.fn();
      await server.redis.acl('SETUSER', 'worker', 'reset', 'on', '>pw', '~*', '&*', '+@all');
      const problems: string[] = [];
      const source = sourceAt(`redis://worker:pw@127.0.0.1:${server.port}`, problems);
      await source.open([fn]);
      await server.redis.acl('SETUSER', 'worker', `-${right}`);
      const claimed = claims(source, fn, 4);
      await eventually(() => expect(problems.length).toBeGreaterThan(0));
      await server.redis.acl('SETUSER', 'worker', `+${right}`);
      expect((await claimed).map(({ id }) => id).toSorted()).toEqual(['1', '2', '3', '4']);
    },
  );
});
