import { describe, expect, it } from '@jest/globals';
import { withdraw } from '../../../lib/qless/wire/source-scripts.js';
import { claimOne } from '../../contract/claiming.js';
import { eventually, until } from '../../support/until.js';
import { useRedisServer } from '../../support/use-redis.js';
import { useSource } from './use-source.js';

const redis = useRedisServer();
const used = useSource(redis);

describe('a source that waits', () => {
  it('is woken by a put, an unpause and a job that falls due, and leaves nothing behind', async () => {
    const source = await used.open({ queues: ['q', 'r'] });
    const waiting = () => until(async () => (await used.redis.zcard('ql:idlers:r')) === 1);

    const put = claimOne(source, 'K');
    await waiting();
    await used.client.queue('r').put('K');
    await put;

    await used.client.queue('q').pause();
    await used.client.queue('q').put('K');
    const unpaused = claimOne(source, 'K');
    await waiting();
    await used.client.queue('q').unpause();
    await unpaused;

    const due = claimOne(source, 'K');
    await waiting();
    const before = performance.now();
    await used.client.queue('q').put('K', {}, { delay: 300 });
    await due;
    expect(performance.now() - before).toBeGreaterThan(250);

    await source.close();
    for (const left of ['ql:idlers:*', 'ql:nudge:*', 'ql:wake:*']) {
      await expect(used.redis.keys(left)).resolves.toEqual([]);
    }
    await expect(used.client.workers.list()).resolves.toEqual([]);
  });

  it('leaves its token again when it is lost, and tokens of dead workers are removed', async () => {
    const sources = [await used.open(), await used.open()];
    const claims = sources.map((source) => claimOne(source, 'K'));
    const tokens = () => used.redis.zrange('ql:idlers:q', '0', '-1');
    await eventually(async () => expect(await tokens()).toHaveLength(2));
    await used.redis.flushall();
    await eventually(async () => expect(await tokens()).toHaveLength(2));
    const [one = ''] = await tokens();
    await used.redis.zrem('ql:idlers:q', one);
    await used.redis.zadd('ql:idlers:q', 1, 'dead');
    await eventually(async () => expect(await tokens()).toContain(one));
    await eventually(async () => expect(await tokens()).not.toContain('dead'));
    await used.client.queue('q').putMany([{ klass: 'K' }, { klass: 'K' }]);
    await Promise.all(claims);
  });

  it('hands on a wake-up that it has no use for', async () => {
    await used.redis.zadd('ql:idlers:q', Date.now(), 'other');
    await withdraw.run(used.redis, ['ql:'], '', 'stopped', 'q', ['q']);
    await expect(used.redis.llen('ql:wake:q')).resolves.toBe(1);
  });

  it('leaves no wake-up forever if its process is killed', async () => {
    await used.redis.zadd('ql:idlers:q', 1, 'killed');
    await used.client.queue('q').put('K');
    await expect(used.redis.llen('ql:wake:q')).resolves.toBe(1);
    expect(await used.redis.ttl('ql:wake:q')).toBeGreaterThan(0);
  });

  it('is woken, and hinders no put, beside the list that tokens of an earlier version are in', async () => {
    await used.redis.rpush('ql:idle:q', '1');
    const source = await used.open();
    const claim = claimOne(source, 'K');
    await eventually(async () => expect(await used.redis.zcard('ql:idlers:q')).toBe(1));
    await used.client.queue('q').put('K');
    await expect(claim).resolves.toMatchObject({ fn: 'K' });
  });

  it('finds jobs of a client without markers', async () => {
    const source = await used.open();
    const claim = claimOne(source, 'K');
    await eventually(async () => expect(await used.redis.zcard('ql:idlers:q')).toBe(1));
    const job = {
      jid: 'plain',
      klass: 'K',
      data: '{}',
      priority: 0,
      tags: '[]',
      state: 'waiting',
      queue: 'q',
    };
    await used.redis.hset('ql:j:plain', { ...job, worker: '', retries: 5, remaining: 5, time: 1 });
    await used.redis.zadd('ql:q:q-work', 0, 'plain');
    await expect(claim).resolves.toMatchObject({ id: 'plain' });
  });

  it('takes jobs of recurring ones when they are due', async () => {
    const source = await used.open();
    const claim = claimOne(source, 'K');
    const jid = await used.client.queue('q').recur('K', {}, { interval: '60s', offset: 200 });
    await expect(claim).resolves.toMatchObject({ id: `${jid}-1`, fn: 'K' });
  });

  it('releases jobs it claimed if the connection broke before the reply', async () => {
    const source = await used.open();
    await used.client.queue('q').put('K', {}, { jid: 'a' });
    await redis.server.kill('SIGSTOP');
    const claim = claimOne(source, 'K');
    await eventually(() => expect(source.health().connected).toBe(false));
    await redis.server.kill('SIGCONT');
    await expect(claim).resolves.toMatchObject({ id: 'a', attempts: 1 });
    await expect(used.historyOf('a')).resolves.toEqual(['put', 'popped', 'released', 'popped']);
  });
});
