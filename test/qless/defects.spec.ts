import { describe, expect, it } from '@jest/globals';
import { jidsOf, useQless } from './qless-rig.js';

/** What went wrong in the original, a test each. */
describe('mended:', () => {
  const qless = useQless();
  const many = (count: number) => Array.from({ length: count }, (_, i) => `j${i}`);
  const putMany = async (jids: readonly string[]) => {
    const pipeline = qless.redis.pipeline();
    const sha = String(
      await qless.redis.script('LOAD', (await import('../../lib/qless/wire/assemble.js')).unifiedScript()),
    );
    for (const jid of jids) pipeline.evalsha(sha, 0, 'put', 0, 'p', 'q', jid, 'k', '{}', 0);
    await pipeline.exec();
  };

  it('cancel of 9,000 jids aborts in unpack', async () => {
    const jids = many(9000);
    await putMany(jids);
    await expect(qless.q('cancel', 0, ...jids)).resolves.toEqual(jids);
    while (await qless.redis.exists('ql:cancelling')) await qless.q('length', 0, 'q');
    expect(await qless.redis.keys('*')).toEqual(['ql:queues']);
  });

  it('pop of 9,000 jobs aborts in unpack after writing', async () => {
    await putMany(many(9000));
    const popped = new Set<string>();
    for (let calls = 0; popped.size < 9000; calls++) {
      expect(calls).toBeLessThan(36);
      for (const jid of jidsOf(await qless.json('pop', 0, 'q', 'w', 9000))) popped.add(jid);
    }
    await expect(qless.redis.zcard('ql:q:q-locks')).resolves.toBe(9000);
  });

  it('a waiting jid without a hash breaks every pop: it is skipped and logged', async () => {
    await qless.put('a');
    await qless.put('b');
    await qless.redis.zadd('ql:q:q-work', 9, 'gone', 1, 'gone too');
    await expect(qless.pop(0, 2)).resolves.toHaveLength(2);
    await expect(qless.redis.exists('ql:q:q-work')).resolves.toBe(0);
    await qless.redis.del('ql:j:a');
    await qless.put('c');
    await expect(qless.pop(100, 5)).resolves.toEqual(['c']);
    await qless.redis.zadd('ql:q:q-scheduled', 9, 'gone');
    await qless.redis.zadd('ql:q:q-recur', 9, 'gone');
    await qless.put('d');
    await expect(qless.pop(100, 1)).resolves.toEqual(['d']);
    await expect(qless.pop(100, 5)).resolves.toEqual([]);
    await expect(qless.redis.exists('ql:q:q-scheduled', 'ql:q:q-recur')).resolves.toBe(0);
  });

  it('heartbeat leaves grace set: the owner is warned again the next time', async () => {
    await qless.put('jid');
    await qless.pop(0);
    await qless.pop(60);
    await qless.q('heartbeat', 65, 'jid', 'w');
    await expect(qless.redis.hexists('ql:j:jid', 'grace')).resolves.toBe(0);
    await expect(qless.pop(125, 1, 'w2')).resolves.toEqual([]);
    await expect(qless.pop(135, 1, 'w2')).resolves.toEqual(['jid']);
  });

  it.each(['retry', 'complete', 'put', 'timeout'])('%s leaves grace set', async (command) => {
    await qless.put('jid');
    await qless.pop(0);
    await qless.pop(60);
    if (command === 'retry') await qless.q('retry', 61, 'jid', 'q', 'w');
    if (command === 'complete') await qless.q('complete', 61, 'jid', 'w', 'q', '{}', 'next', 'q');
    if (command === 'put') await qless.put('jid');
    if (command === 'timeout') await qless.q('timeout', 61, 'jid');
    await expect(qless.redis.hexists('ql:j:jid', 'grace')).resolves.toBe(0);
  });

  it.each([0, 5])('retry into another queue leaves the queue field old (delay %d)', async (delay) => {
    await qless.put('jid');
    await qless.pop(0);
    await qless.q('retry', 0, 'jid', 'n', 'w', delay);
    await expect(qless.job('jid')).resolves.toMatchObject({ queue: 'n' });
    await expect(qless.json('pop', 5, 'n', 'w', 1)).resolves.toHaveLength(1);
    await expect(qless.q('complete', 6, 'jid', 'w', 'n', '{}')).resolves.toBe('complete');
    await expect(qless.redis.zrange('ql:queues', '0', '-1')).resolves.toEqual(['n', 'q']);
  });

  it('complete with next and delay leaves the state waiting', async () => {
    await qless.put('jid');
    await qless.pop(0);
    await expect(qless.q('complete', 0, 'jid', 'w', 'q', '{}', 'next', 'n', 'delay', 5)).resolves.toBe(
      'scheduled',
    );
    await expect(qless.job('jid')).resolves.toMatchObject({ state: 'scheduled' });
  });

  it('complete with satisfied dependencies loses the delay', async () => {
    await qless.put('jid');
    await qless.pop(0);
    await qless.q('complete', 0, 'jid', 'w', 'q', '{}', 'next', 'n', 'delay', 5, 'depends', '["gone"]');
    await expect(qless.redis.zscore('ql:q:n-scheduled', 'jid')).resolves.toBe('5');
  });

  it('depends off loses the delay', async () => {
    await qless.put('a');
    await qless.q('put', 0, 'p', 'q', 'jid', 'k', '{}', 50, 'depends', '["a"]');
    await qless.q('depends', 1, 'jid', 'off', 'all');
    await expect(qless.job('jid')).resolves.toMatchObject({ state: 'scheduled' });
    await expect(qless.redis.zscore('ql:q:q-scheduled', 'jid')).resolves.toBe('50');
  });

  it('a stale scheduled field delays a job that is put again', async () => {
    await qless.put('a');
    await qless.q('put', 0, 'p', 'q', 'jid', 'k', '{}', 50, 'depends', '["a"]');
    await qless.q('put', 0, 'p', 'q', 'jid', 'k', '{}', 0);
    await qless.q('depends', 1, 'jid', 'off', 'all');
    await expect(qless.job('jid')).resolves.toMatchObject({ state: 'waiting' });
  });

  it.each(['cancel', 'put elsewhere', 'unfail'])(
    'the stat failed goes to -1 or stays after %s',
    async (command) => {
      await qless.put('jid');
      await qless.pop(0);
      await qless.q('fail', 0, 'jid', 'w', 'g', 'm');
      if (command === 'cancel') await qless.q('cancel', 0, 'jid');
      if (command === 'unfail') await qless.q('unfail', 0, 'n', 'g');
      if (command === 'put elsewhere') await qless.q('put', 0, 'p', 'n', 'jid', 'k', '{}', 0);
      await expect(qless.json('stats', 0, 'q', 0)).resolves.toMatchObject({ failed: 0, failures: 1 });
      await expect(qless.json('stats', 0, 'n', 0)).resolves.toMatchObject({ failed: 0, failures: 0 });
    },
  );

  it('a failed count that was lost does not go below 0', async () => {
    await qless.put('jid');
    await qless.pop(0);
    await qless.q('fail', 0, 'jid', 'w', 'g', 'm');
    await qless.redis.del('ql:s:stats:0:q');
    await qless.q('cancel', 0, 'jid');
    await expect(qless.json('stats', 0, 'q', 0)).resolves.toMatchObject({ failed: 0 });
  });

  it('tag counts drift when a tag is added again or an unknown one removed', async () => {
    await qless.put('a', 'tags', '["t"]');
    await qless.put('b', 'tags', '["t"]');
    await qless.q('tag', 5, 'add', 'a', 't', 't');
    await qless.q('tag', 5, 'remove', 'a', 'unknown');
    await qless.put('a');
    await expect(qless.redis.zrange('ql:tags', '0', '-1', 'WITHSCORES')).resolves.toEqual(['t', '2']);
    await expect(qless.redis.zscore('ql:t:t', 'a')).resolves.toBe('0');
    await qless.q('tag', 5, 'remove', 'a', 't', 't');
    await expect(qless.redis.zrange('ql:tags', '0', '-1', 'WITHSCORES')).resolves.toEqual(['t', '1']);
  });

  it.each(['heartbeat', 'fail', 'complete', 'advance'])('%s encodes data again', async (command) => {
    const data = '{"a":[],"n":12345678901234567890,"f":1.0}';
    await qless.put('jid');
    await qless.pop(0);
    if (command === 'heartbeat') await qless.q('heartbeat', 0, 'jid', 'w', data);
    if (command === 'fail') await qless.q('fail', 0, 'jid', 'w', 'g', 'm', data);
    if (command === 'complete') await qless.q('complete', 0, 'jid', 'w', 'q', data);
    if (command === 'advance') await qless.q('complete', 0, 'jid', 'w', 'q', data, 'next', 'n');
    await expect(qless.job('jid')).resolves.toMatchObject({ data });
  });

  it('max-concurrency allows a job while another is in its grace period', async () => {
    await qless.q('config.set', 0, 'q-max-concurrency', 1);
    await qless.put('a');
    await qless.pop(0);
    await qless.put('b');
    await expect(qless.pop(61, 5, 'w2')).resolves.toEqual([]);
    await expect(qless.pop(65, 5, 'w2')).resolves.toEqual([]);
    await expect(qless.pop(71.5, 5, 'w2')).resolves.toEqual(['a']);
  });

  it('statistics never expire', async () => {
    await qless.put('jid');
    await qless.pop(0);
    await qless.q('fail', 1, 'jid', 'w', 'g', 'm');
    await qless.q('config.set', 0, 'stats-history', 2);
    await qless.put('b');
    await qless.q('pop', 90_000, 'q', 'w', 1);
    await qless.q('complete', 90_000, 'b', 'w', 'q', '{}');
    const days = async (key: string) => Math.round((await qless.redis.ttl(key)) / 86_400);
    await expect(days('ql:s:wait:0:q')).resolves.toBe(31);
    await expect(days('ql:s:stats:0:q')).resolves.toBe(31);
    await expect(days('ql:s:run:86400:q')).resolves.toBe(3);
  });

  it('histogram-history is unread: after so many days only the summary stays', async () => {
    const DAY = 86_400;
    const popOn = async (day: number, jid: string) => {
      await qless.q('put', day * DAY, 'p', 'q', jid, 'k', '{}', 0);
      await qless.q('pop', day * DAY, 'q', 'w', 1);
    };
    for (const day of [0, 2, 8]) await popOn(day, `j${day}`);
    const wait = async (day: number) =>
      (await qless.json<{ wait: { count: number; histogram: number[] } }>('stats', 0, 'q', day * DAY)).wait;
    const [first, third] = [await wait(0), await wait(2)];
    expect([first.count, first.histogram[0]]).toEqual([1, 0]);
    expect([third.count, third.histogram[0]]).toEqual([1, 1]);
  });
});
