import { describe, expect, it } from '@jest/globals';
import { legacyRefuses, refuses, useQless } from '../qless-rig.js';

describe('fail', () => {
  const qless = useQless();

  refuses(qless, [
    [['fail', 0], 'Fail(): Arg "jid" missing'],
    [['fail', 0, 'there'], 'Fail(): Arg "worker" missing'],
    [['fail', 0, 'there', 'w'], 'Fail(): Arg "group" missing'],
    [['fail', 0, 'there', 'w', 'g'], 'Fail(): Arg "message" missing'],
    [['fail', 0, 'there', 'w', 'g', 'm', '{]'], 'Fail(): Arg "data" not JSON: {]'],
    [['fail', 0, 'gone', 'w', 'g', 'm'], 'Fail(): Job gone does not exist'],
  ]);

  it('refuses jobs that are not running, or with another worker', async () => {
    await qless.put('jid');
    await expect(qless.q('fail', 0, 'jid', 'w', 'g', 'm')).rejects.toThrow(
      'Fail(): Job jid not currently running: waiting',
    );
    await qless.pop(0);
    await expect(qless.q('fail', 0, 'jid', 'x', 'g', 'm')).rejects.toThrow(
      'Fail(): Job jid running with another worker: w',
    );
  });

  it('files the job under its group, and publishes that', async () => {
    await qless.put('jid');
    await qless.q('track', 0, 'track', 'jid');
    await qless.pop(0);
    const fail = () => qless.q('fail', 7.5, 'jid', 'w', 'a "group"', 'a/b\n', '[]');
    await expect(qless.events(fail)).resolves.toEqual([
      ['ql:log', '{"message":"a\\/b\\n","jid":"jid","group":"a \\"group\\"","event":"failed","worker":"w"}'],
      ['ql:failed', 'jid'],
    ]);
    await expect(qless.job('jid')).resolves.toMatchObject({
      state: 'failed',
      queue: 'q',
      worker: '',
      expires: 0,
      data: '[]',
      failure: { group: 'a "group"', message: 'a/b\n', when: 7, worker: 'w' },
      history: [{}, {}, { what: 'failed', when: 7, worker: 'w', group: 'a "group"' }],
    });
    await expect(qless.redis.smembers('ql:failures')).resolves.toEqual(['a "group"']);
    await expect(qless.redis.lrange('ql:f:a "group"', 0, -1)).resolves.toEqual(['jid']);
    await expect(qless.redis.exists('ql:q:q-locks', 'ql:w:w:jobs')).resolves.toBe(0);
    await expect(qless.json('stats', 0, 'q', 0)).resolves.toMatchObject({ failed: 1, failures: 1 });
  });

  it('unlocks its dependents with unlock-on-failure', async () => {
    await qless.q('config.set', 0, 'unlock-on-failure', 1);
    await qless.put('a');
    await qless.put('b', 'depends', '["a"]');
    await qless.pop(0);
    await qless.q('fail', 1, 'a', 'w', 'g', 'm');
    await expect(qless.job('b')).resolves.toMatchObject({ state: 'waiting', dependencies: {} });
  });

  it('deletes failures older than failed-history, unless jobs depend on them', async () => {
    for (const jid of ['a', 'b', 'c', 'd']) await qless.put(jid);
    await qless.put('e', 'depends', '["b"]');
    await qless.pop(0);
    await qless.q('fail', 1, 'a', 'w', 'g', 'm');
    await qless.q('fail', 2, 'b', 'w', 'g', 'm');
    await qless.q('fail', 3, 'c', 'w', 'g', 'm');
    await qless.q('config.set', 0, 'failed-history', 10);
    await qless.q('fail', 20, 'd', 'w', 'g', 'm');
    await expect(qless.json('failed', 0, 'g')).resolves.toEqual({ total: 3, jobs: ['d', 'c', 'b'] });
    await expect(qless.q('get', 0, 'a')).resolves.toBeNull();
  });

  describe('in the form of the first generation', () => {
    legacyRefuses(qless, 'fail', [
      [['q'], [], 'Fail(): Got 1, expected 0 KEYS'],
      [[], ['there', 'w', 'g', 'm'], 'Fail(): Arg "now" missing or not a number'],
      [[], ['there', 'w', 'g', 'm', 0, '{]'], 'Fail(): Arg "data" not JSON: {]'],
    ]);

    it('gives nil for jobs that the worker has not, and the jid for the others', async () => {
      await qless.put('jid');
      const fail = (worker: string) => qless.legacy('fail', [], 'jid', worker, 'g', 'm', 4);
      await expect(fail('w')).resolves.toBeNull();
      await qless.pop(0);
      await expect(fail('x')).resolves.toBeNull();
      const events = await qless.events(async () => expect(await fail('w')).toBe('jid'));
      expect(events).toEqual([]);
      expect(JSON.parse(String(await qless.legacy('get', [], 'jid')))).toMatchObject({
        history: [{ q: 'q', put: 0, popped: 0, worker: 'w', failed: 4 }],
      });
    });
  });
});
