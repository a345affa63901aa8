import { describe, expect, it } from '@jest/globals';
import { RedisActors } from '../redis-rig.js';
import { useGearMonkey } from '../use-gearmonkey.js';
import { useRedisServer } from '../../support/use-redis.js';

describe('the index of tags', () => {
  const rig = useGearMonkey(useRedisServer());
  const size = (fn: string) => rig.redis.zcard(`tags:${fn}`);

  it('does not exist without tags', async () => {
    const fn = rig.fn();
    await rig.client.runMany(fn, [1, 2], { headers: { tags: 'x' } });
    expect(await rig.redis.exists(`tags:${fn}`)).toBe(0);
  });

  it('expires 30 days after the last job may run', async () => {
    const fn = rig.fn();
    await rig.client.run(fn, 1, { tags: ['a'] });
    const first = await rig.redis.ttl(`tags:${fn}`);
    expect(first).toBeGreaterThan(29 * 86_400);
    expect(first).toBeLessThanOrEqual(30 * 86_400);
    await rig.client.run(fn, 1, { tags: ['a'], delay: '100 days' });
    expect(await rig.redis.ttl(`tags:${fn}`)).toBeGreaterThan(129 * 86_400);
    await rig.client.run(fn, 1, { tags: ['a'] });
    expect(await rig.redis.ttl(`tags:${fn}`)).toBeGreaterThan(129 * 86_400);
  });

  it.each([
    [1, 1000],
    [1000, 20_000],
  ])('does not keep the entries of jobs that are gone, added %i at a time', async (many, jobs) => {
    const fn = rig.fn();
    for (let added = 0; added < jobs; added += many) {
      const handles = await rig.client.runMany(fn, Array(many).fill(1), { tags: ['a', `b:${added}`] });
      await rig.redis.del(...handles.map(({ id }) => `job:${fn}:${id}`));
    }
    const withoutCleaning = 2 * jobs;
    expect(await size(fn)).toBeLessThan(withoutCleaning / 5);
  });

  it.each([
    ['a queue', 'queue:FN:normal', {}],
    ['the scheduled jobs', 'queue:FN:scheduled', { delay: '1h' }],
    ['the index itself', 'tags:FN', {}],
  ])('keeps nothing of jobs that Redis refuses because %s has another type', async (_, key, options) => {
    const fn = rig.fn();
    await rig.redis.set(key.replace('FN', fn), 'x');
    const refused = rig.client.runMany(fn, [1, 2], { tags: ['a'], ...options });
    await expect(refused).rejects.toMatchObject({ code: 'REFUSED' });
    await rig.redis.del(key.replace('FN', fn));
    expect(await size(fn)).toBe(0);
    expect(await rig.redis.keys(`job:${fn}:*`)).toEqual([]);
    await expect(rig.client.find(fn, { tag: 'a' })).resolves.toEqual({ jobs: [], total: 0 });
  });

  it('refuses only jobs with tags to a user without a right to them', async () => {
    const fn = rig.fn();
    await rig.redis.call('ACL', 'SETUSER', 'untagged', 'on', '>secret', '~*', '&*', '+@all', '-zadd');
    const client = new RedisActors(rig.url.replace('//', '//untagged:secret@'));
    try {
      const untagged = client.client();
      await untagged.run(fn, 'first');
      const enqueued = [{}, { tags: ['a'] }, { headers: { tags: 'none' } }, {}].map((options) =>
        untagged.run(fn, 1, options).then(
          () => 'enqueued',
          ({ code }: { code: string }) => code,
        ),
      );
      await expect(Promise.all(enqueued)).resolves.toEqual(['enqueued', 'REFUSED', 'enqueued', 'enqueued']);
    } finally {
      client.close();
    }
  });

  it('does not give the tags of a job to another that gets its id', async () => {
    const fn = rig.fn();
    await rig.client.run(fn, 1, { tags: ['a'] });
    await rig.redis.del(`job:${fn}:1`);
    await rig.redis.set(`uid:${fn}`, 0);
    await rig.client.run(fn, 2, { tags: ['b'] });
    await expect(rig.client.find(fn, { tag: 'a' })).resolves.toEqual({ jobs: [], total: 0 });
    await expect(rig.client.find(fn, { tag: 'b' })).resolves.toMatchObject({ total: 1 });
  });

  it('is written once for a job of which the call is sent again', async () => {
    const fn = rig.fn();
    const handles = await rig.client.runMany(fn, Array(3000).fill(1), {
      tags: Array.from({ length: 16 }, (_, n) => `t${n}`),
    });
    expect(await size(fn)).toBe(handles.length * 16);
  });

  it('survives entries and options that others wrote', async () => {
    const fn = rig.fn();
    await rig.client.run(fn, 1, { tags: ['a'] });
    await rig.redis.zadd(`tags:${fn}`, 0, 'a\0', 0, 'a\0xx', 0, 'no entry', 5, 'a\x00019');
    await rig.redis.hset(`job:${fn}:9`, { status: 'odd', options: '{"tags":{"length":99}}' });
    const { jobs } = await rig.client.find(fn, { tag: 'a' });
    expect(jobs.map(({ id }) => id)).toEqual(['1']);
    await rig.redis.hset(`job:${fn}:9`, { status: 'idle' });
    await expect(rig.client.find(fn, { id: 9 })).resolves.toMatchObject({ total: 1 });
    await rig.client.runMany(fn, Array(50).fill(1), { tags: ['a'] });
    await expect(rig.client.find(fn, { tag: 'a', size: 100 })).resolves.toMatchObject({ total: 51 });
  });
});
