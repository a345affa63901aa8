import { describe, expect, it } from '@jest/globals';
import { legacyRefuses, refuses, useQless } from '../qless-rig.js';

describe('complete', () => {
  const qless = useQless();

  refuses(qless, [
    [['complete', 0], 'Complete(): Arg "jid" missing'],
    [['complete', 0, 'there'], 'Complete(): Arg "worker" missing'],
    [['complete', 0, 'there', 'w'], 'Complete(): Arg "queue" missing'],
    [['complete', 0, 'there', 'w', 'q'], 'Complete(): Arg "data" missing or not JSON: nil'],
    [['complete', 0, 'there', 'w', 'q', '{]'], 'Complete(): Arg "data" missing or not JSON: {]'],
    [['complete', 0, 'there', 'w', 'q', '{}', 'next'], 'Odd number of additional args: next'],
    [
      ['complete', 0, 'there', 'w', 'q', '{}', 'next', 'n', 'delay', 'x'],
      'Complete(): Arg "delay" not a number: x',
    ],
    [
      ['complete', 0, 'there', 'w', 'q', '{}', 'next', 'n', 'depends', '[}'],
      'Complete(): Arg "depends" not JSON: [}',
    ],
    [
      ['complete', 0, 'there', 'w', 'q', '{}', 'delay', 5],
      'Complete(): "delay" cannot be used without a "next".',
    ],
    [
      ['complete', 0, 'there', 'w', 'q', '{}', 'depends', '[]'],
      'Complete(): "depends" cannot be used without a "next".',
    ],
    [['complete', 0, 'gone', 'w', 'q', '{}'], 'Complete(): Job gone does not exist'],
  ]);

  it('refuses, in this order, jobs in another state, with another worker, in another queue', async () => {
    await qless.put('jid');
    const complete = (worker: string, queue: string) => qless.q('complete', 1, 'jid', worker, queue, '{}');
    await expect(complete('x', 'x')).rejects.toThrow('Complete(): Job jid is not currently running: waiting');
    await qless.pop(0);
    await expect(complete('x', 'x')).rejects.toThrow(
      'Complete(): Job jid has been handed out to another worker: w',
    );
    await expect(complete('w', 'x')).rejects.toThrow('Complete(): Job jid running in another queue: q');
    await expect(complete('w', 'q')).resolves.toBe('complete');
    await expect(complete('w', 'q')).rejects.toThrow(
      'Complete(): Job jid is not currently running: complete',
    );
  });

  it('ends a job, also after its lock has expired', async () => {
    await qless.put('jid');
    await qless.pop(0);
    const complete = () => qless.q('complete', 100, 'jid', 'w', 'q', '{"a":[]}');
    await expect(qless.events(complete)).resolves.toEqual([
      ['ql:log', '{"jid":"jid","event":"completed","queue":"q"}'],
    ]);
    await expect(qless.job('jid')).resolves.toEqual({
      jid: 'jid',
      klass: 'k',
      state: 'complete',
      queue: '',
      worker: '',
      tracked: false,
      priority: 0,
      expires: 0,
      retries: 5,
      remaining: 5,
      data: '{"a":[]}',
      tags: {},
      history: [
        { what: 'put', when: 0, q: 'q' },
        { what: 'popped', when: 0, worker: 'w' },
        { what: 'done', when: 100 },
      ],
      failure: {},
      spawned_from_jid: false,
      dependents: {},
      dependencies: {},
    });
    await expect(qless.redis.zscore('ql:completed', 'jid')).resolves.toBe('100');
    await expect(qless.redis.exists('ql:q:q-locks', 'ql:w:w:jobs')).resolves.toBe(0);
    await expect(qless.json('stats', 0, 'q', 0)).resolves.toMatchObject({ run: { count: 1, mean: 100 } });
  });

  it('forgets a failure of before', async () => {
    await qless.put('jid');
    await qless.pop(0);
    await qless.q('fail', 0, 'jid', 'w', 'g', 'm');
    await qless.put('jid');
    await qless.pop(0);
    await expect(qless.job('jid')).resolves.toMatchObject({ failure: { group: 'g' } });
    await qless.q('complete', 0, 'jid', 'w', 'q', '{}');
    await expect(qless.job('jid')).resolves.toMatchObject({ failure: {} });
  });

  it('publishes the end of a tracked job before the log event', async () => {
    await qless.put('jid');
    await qless.q('track', 0, 'track', 'jid');
    await qless.pop(0);
    await expect(qless.events(() => qless.q('complete', 1, 'jid', 'w', 'q', '{}'))).resolves.toEqual([
      ['ql:completed', 'jid'],
      ['ql:log', '{"jid":"jid","event":"completed","queue":"q"}'],
    ]);
  });

  it('unlocks its dependents if it was their last dependency', async () => {
    await qless.put('a');
    await qless.put('b');
    await qless.put('c', 'depends', '["a","b"]');
    await qless.q('put', 0, 'p', 'q', 'd', 'k', '{}', 50, 'depends', '["a"]');
    await qless.pop(0);
    await qless.q('complete', 1, 'a', 'w', 'q', '{}');
    await expect(qless.job('c')).resolves.toMatchObject({ state: 'depends', dependencies: ['b'] });
    await expect(qless.job('d')).resolves.toMatchObject({ state: 'scheduled', dependencies: {} });
    await qless.q('complete', 2, 'b', 'w', 'q', '{}');
    await expect(qless.job('c')).resolves.toMatchObject({ state: 'waiting' });
    await expect(qless.pop(49)).resolves.toEqual(['c']);
    await expect(qless.pop(50)).resolves.toEqual(['d']);
    await expect(qless.redis.keys('*-depend*')).resolves.toEqual([]);
  });

  describe('with a next queue', () => {
    const advance = (...options: (string | number)[]) =>
      qless.q('complete', 10, 'jid', 'w', 'q', '{}', 'next', 'n', ...options);

    it.each([
      ['waiting', []],
      ['scheduled', ['delay', 5]],
      ['depends', ['depends', '["other"]']],
      ['depends', ['depends', '["other"]', 'delay', 5]],
      ['waiting', ['depends', '["gone"]']],
      ['scheduled', ['depends', '["gone"]', 'delay', 5]],
    ])('the job is %s there: %j', async (state, options) => {
      await qless.put('jid', 'priority', 1);
      await qless.put('other');
      await qless.pop(0, 1);
      await qless.redis.hset('ql:j:jid', 'remaining', 1);
      await expect(advance(...options)).resolves.toBe(state);
      await expect(qless.job('jid')).resolves.toMatchObject({ state, queue: 'n', worker: '', remaining: 5 });
      const set = state === 'waiting' ? 'work' : state;
      await expect(qless.redis.zscore(`ql:q:n-${set}`, 'jid')).resolves.not.toBeNull();
      await expect(qless.redis.zrange('ql:queues', '0', '-1')).resolves.toEqual(['q', 'n']);
    });

    it('publishes that it advanced', async () => {
      await qless.put('jid');
      await qless.q('track', 0, 'track', 'jid');
      await qless.pop(0);
      await expect(qless.events(() => advance())).resolves.toEqual([
        ['ql:completed', 'jid'],
        ['ql:log', '{"jid":"jid","to":"n","event":"advanced","queue":"q"}'],
      ]);
    });
  });

  describe('deletes complete jobs', () => {
    const finish = async (jid: string, now: number) => {
      await qless.q('put', now, 'p', 'q', jid, 'k', '{}', 0, 'tags', '["t"]');
      await qless.pop(now);
      await qless.q('complete', now, jid, 'w', 'q', '{}');
    };

    it('that are more than jobs-history-count', async () => {
      await qless.q('config.set', 0, 'jobs-history-count', 2);
      for (const [now, jid] of ['a', 'b', 'c', 'd'].entries()) await finish(jid, now);
      await expect(qless.q('jobs', 0, 'complete')).resolves.toEqual(['d', 'c']);
      await expect(qless.redis.exists('ql:j:a', 'ql:j:a-history', 'ql:j:b')).resolves.toBe(0);
      await expect(qless.json('tag', 0, 'get', 't')).resolves.toEqual({ total: 2, jobs: ['c', 'd'] });
    });

    it('and keeps as many as jobs-history-count says', async () => {
      await qless.q('config.set', 0, 'jobs-history-count', 2);
      for (const [now, jid] of ['a', 'b', 'c'].entries()) await finish(jid, now);
      await expect(qless.q('jobs', 0, 'complete')).resolves.toEqual(['c', 'b']);
    });

    it('that are older than jobs-history', async () => {
      await qless.q('config.set', 0, 'jobs-history', 10);
      for (const [now, jid] of [
        [0, 'a'],
        [5, 'b'],
        [10, 'c'],
      ] as const)
        await finish(jid, now);
      await expect(qless.q('jobs', 0, 'complete')).resolves.toEqual(['c', 'b']);
      await qless.q('config.set', 0, 'jobs-history', -1);
      await finish('d', 11);
      await expect(qless.redis.keys('ql:j:*')).resolves.toEqual([]);
      await expect(qless.redis.exists('ql:tags', 'ql:t:t', 'ql:completed')).resolves.toBe(0);
    });
  });

  describe('in the form of the first generation', () => {
    legacyRefuses(qless, 'complete', [
      [['q'], [], 'Complete(): Got 1, expected 0 KEYS'],
      [[], ['there', 'w', 'q'], 'Complete(): Arg "now" missing or not a number'],
      [[], ['there', 'w', 'q', 0], 'Complete(): Arg "data" missing or not JSON'],
      [
        [],
        ['there', 'w', 'q', 0, '{}', 'next', 'n', 'delay', 1, 'depends', '["x"]'],
        'are not allowed together',
      ],
    ]);

    it('gives nil for jobs that the worker has not, and the state for the others', async () => {
      await qless.put('jid');
      const complete = (worker: string, queue: string) =>
        qless.legacy('complete', [], 'jid', worker, queue, 1, '{}');
      await expect(qless.legacy('complete', [], 'gone', 'w', 'q', 1, '{}')).resolves.toBeNull();
      await expect(complete('w', 'q')).resolves.toBeNull();
      await qless.pop(0);
      await expect(complete('x', 'q')).resolves.toBeNull();
      await expect(complete('w', 'x')).resolves.toBeNull();
      await expect(complete('w', 'q')).resolves.toBe('complete');
    });
  });
});
