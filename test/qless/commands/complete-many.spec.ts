import { describe, expect, it } from '@jest/globals';
import { refuses, useQless } from '../qless-rig.js';

describe('complete.many', () => {
  const qless = useQless();
  const running = async (...jids: string[]) => {
    for (const jid of jids) await qless.put(jid);
    await qless.pop(0);
  };
  const many = (now: number, ...pairs: string[]) => qless.q('complete.many', now, 'w', 'q', ...pairs);

  refuses(qless, [
    [['complete.many', 0], 'Complete(): Arg "worker" missing'],
    [['complete.many', 0, 'w'], 'Complete(): Arg "queue" missing'],
    [['complete.many', 0, 'w', 'q'], 'Complete(): Arg "jid" missing'],
    [['complete.many', 0, 'w', 'q', 'there'], 'Complete(): Arg "data" missing or not JSON: nil'],
    [['complete.many', 0, 'w', 'q', 'there', '{]'], 'Complete(): Arg "data" missing or not JSON: {]'],
    [['complete.many', 0, 'w', 'q', 'there', '{}', 'x'], 'Complete(): Arg "data" missing or not JSON: nil'],
    [
      ['complete.many', 0, 'w', 'q', ...Array.from({ length: 502 }, (_, i) => (i % 2 ? '{}' : 'there'))],
      'Complete(): More than 250 jobs; complete them in several calls',
    ],
  ]);

  it('ends the jobs that it can, and says of the others why not', async () => {
    await running('a', 'b', 'c', 'd');
    await qless.put('e');
    await qless.q('fail', 1, 'b', 'w', 'g', 'm');
    await qless.q('config.set', 1, 'heartbeat', 5);
    const pairs = ['a', 'b', 'c', 'gone', 'e', 'a'].flatMap((jid) => [jid, '{"n":1}']);
    await expect(many(2, ...pairs)).resolves.toEqual([
      'complete',
      'Complete(): Job b is not currently running: failed',
      'complete',
      'Complete(): Job gone does not exist',
      'Complete(): Job e is not currently running: waiting',
      'Complete(): Job a is not currently running: complete',
    ]);
    await expect(qless.q('complete.many', 3, 'x', 'q', 'd', '{}')).resolves.toEqual([
      'Complete(): Job d has been handed out to another worker: w',
    ]);
    await expect(qless.q('complete.many', 3, 'w', 'x', 'd', '{}')).resolves.toEqual([
      'Complete(): Job d running in another queue: q',
    ]);
    await expect(qless.q('jobs', 3, 'complete')).resolves.toEqual(['c', 'a']);
  });

  it('has the same effects as complete, also the same events', async () => {
    const prepare = async () => {
      await qless.redis.flushall();
      await qless.put('first');
      await qless.put('jid', 'tags', '["t"]');
      await qless.put('later', 'depends', '["jid"]');
      await qless.pop(10);
      await qless.q('track', 10, 'track', 'jid');
    };
    const state = async () => {
      const keys = (await qless.redis.keys('*')).sort();
      return Promise.all(keys.map(async (key) => [key, await qless.redis.dump(key)]));
    };
    await prepare();
    const events = await qless.events(() => qless.q('complete', 75, 'jid', 'w', 'q', '[1]'));
    const expected = await state();
    await prepare();
    await expect(qless.events(() => many(75, 'jid', '[1]'))).resolves.toEqual(events);
    await expect(state()).resolves.toEqual(expected);
  });

  it('adds a sample for each job', async () => {
    await running('a', 'b', 'c');
    await many(4, 'a', '{}');
    await many(10, 'b', '{}', 'c', '{}');
    const { run } = await qless.json<{ run: Record<string, unknown> }>('stats', 0, 'q', 0);
    expect(run).toMatchObject({ count: 3, mean: 8 });
    expect(run['std']).toBeCloseTo(Math.sqrt(12), 10);
  });

  it('unlocks 250 dependents at most of all the jobs, and leaves the rest to later calls', async () => {
    await running('a', 'b');
    for (let i = 0; i < 200; i++) {
      await qless.q('put', 0, 'p', 'n', `a${i}`, 'k', '{}', 0, 'depends', '["a"]');
      await qless.q('put', 0, 'p', 'n', `b${i}`, 'k', '{}', 0, 'depends', '["b"]');
    }
    await many(1, 'a', '{}', 'b', '{}');
    await expect(qless.redis.zcard('ql:q:n-work')).resolves.toBe(250);
    await qless.q('pop', 2, 'other', 'w', 1);
    await expect(qless.redis.zcard('ql:q:n-work')).resolves.toBe(400);
    await expect(qless.redis.exists('ql:unlocking', 'ql:unlocking:b')).resolves.toBe(0);
  });

  it('deletes as many old complete jobs as it adds', async () => {
    await qless.q('config.set', 0, 'jobs-history-count', 2);
    const jids = Array.from({ length: 250 }, (_, i) => `j${i}`);
    await running(...jids);
    await qless.pop(0, 250);
    await many(1, ...jids.flatMap((jid) => [jid, '{}']));
    await expect(qless.redis.zcard('ql:completed')).resolves.toBe(2);
    await expect(qless.redis.keys('ql:j:*-history')).resolves.toHaveLength(2);
  });
});
