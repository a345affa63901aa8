import { describe, expect, it } from '@jest/globals';
import { jidsOf, legacyRefuses, refuses, useQless } from '../qless-rig.js';

describe('pop', () => {
  const qless = useQless();

  refuses(qless, [
    [['pop'], 'Arg "now" missing'],
    [['pop', 0], 'Pop(): Arg "queue" missing'],
    [['pop', 0, 'q'], 'Pop(): Arg "worker" missing'],
    [['pop', 0, 'q', 'w'], 'Pop(): Arg "count" missing or not a number: nil'],
    [['pop', 0, 'q', 'w', 'many'], 'Pop(): Arg "count" missing or not a number: many'],
  ]);

  it('returns no job from an empty queue, and registers the worker', async () => {
    await expect(qless.q('pop', 5, 'q', 'w', 10)).resolves.toBe('{}');
    await expect(qless.redis.zscore('ql:workers', 'w')).resolves.toBe('5');
    expect(await qless.redis.keys('*')).toEqual(['ql:workers']);
  });

  it('returns one JSON list, and locks its jobs for the heartbeat', async () => {
    await qless.put('jid');
    await expect(qless.json('pop', 10, 'q', 'w', 1)).resolves.toEqual([
      expect.objectContaining({
        jid: 'jid',
        state: 'running',
        worker: 'w',
        expires: 70,
        history: [
          { what: 'put', when: 0, q: 'q' },
          { what: 'popped', when: 10, worker: 'w' },
        ],
      }),
    ]);
    await expect(qless.redis.zscore('ql:q:q-locks', 'jid')).resolves.toBe('70');
    await expect(qless.redis.zscore('ql:w:w:jobs', 'jid')).resolves.toBe('70');
    await expect(qless.redis.exists('ql:q:q-work')).resolves.toBe(0);
  });

  it('takes the heartbeat of the queue before the general one', async () => {
    await qless.q('config.set', 0, 'heartbeat', 20);
    await qless.put('a');
    await expect(qless.json('pop', 0, 'q', 'w', 1)).resolves.toMatchObject([{ expires: 20 }]);
    await qless.q('config.set', 0, 'q-heartbeat', 5);
    await qless.put('b');
    await expect(qless.json('pop', 0, 'q', 'w', 1)).resolves.toMatchObject([{ expires: 5 }]);
  });

  it('gives higher priorities first, and earlier jobs of the same', async () => {
    for (const [at, jid, priority] of [
      [3, 'late', 0],
      [1, 'early', 0],
      [5, 'urgent', 10],
      [0, 'idle', -10],
    ] as const) {
      await qless.q('put', at, 'p', 'q', jid, 'k', '{}', 0, 'priority', priority);
    }
    await expect(qless.pop(6, 3)).resolves.toEqual(['urgent', 'early', 'late']);
    await expect(qless.pop(6, 3)).resolves.toEqual(['idle']);
  });

  it('gives expired jobs first, then recurring, scheduled and waiting ones', async () => {
    await qless.q('config.set', 0, 'grace-period', 0);
    await qless.put('expired');
    await qless.pop(0);
    await qless.put('waiting', 'priority', 5);
    await qless.q('put', 0, 'p', 'q', 'scheduled', 'k', '{}', 30);
    await qless.q('recur', 0, 'q', 'r', 'k', '{}', 'interval', 100, 50);
    await expect(qless.pop(60)).resolves.toEqual(['expired', 'waiting', 'r-1', 'scheduled']);
  });

  it('gives a paused queue nothing, and does not register the worker', async () => {
    await qless.put('jid');
    await qless.q('pause', 0, 'q');
    await expect(qless.pop(0)).resolves.toEqual([]);
    await expect(qless.redis.exists('ql:workers')).resolves.toBe(0);
  });

  it('gives nothing for a count of 0 or less', async () => {
    await qless.put('jid');
    await expect(qless.pop(0, 0)).resolves.toEqual([]);
    await expect(qless.pop(0, -1)).resolves.toEqual([]);
  });

  it('keeps to max-concurrency', async () => {
    await qless.q('config.set', 0, 'q-max-concurrency', 2);
    for (const jid of ['a', 'b', 'c']) await qless.put(jid);
    expect(await qless.pop(0)).toHaveLength(2);
    await expect(qless.pop(1)).resolves.toEqual([]);
    const [running = ''] = (await qless.q('jobs', 1, 'running', 'q')) as string[];
    await qless.q('complete', 1, running, 'w', 'q', '{}');
    expect(await qless.pop(2)).toHaveLength(1);
  });

  it('counts how long jobs waited', async () => {
    await qless.put('a');
    await qless.put('b');
    await qless.pop(30, 1);
    await qless.pop(90, 1);
    const { wait } = await qless.json<{ wait: { count: number; mean: number; histogram: number[] } }>(
      'stats',
      0,
      'q',
      0,
    );
    expect(wait).toMatchObject({ count: 2, mean: 60 });
    expect([wait.histogram[30], wait.histogram[60]]).toEqual([1, 1]);
  });

  it('publishes tracked jobs only', async () => {
    await qless.put('a');
    await qless.put('b');
    await qless.q('track', 0, 'track', 'b');
    await expect(qless.events(() => qless.pop(1))).resolves.toEqual([['ql:popped', 'b']]);
  });

  it('gives the jobs of two queues in the order in which they are asked for', async () => {
    for (const [queue, count] of [
      ['A', 5],
      ['B', 2],
      ['C', 3],
    ] as const) {
      for (let i = 0; i < count; i++) await qless.q('put', i, 'p', queue, `${queue}${i}`, 'k', '{}', 0);
    }
    const order = [];
    for (const queue of ['C', 'C', 'C', 'C', 'B', 'A'])
      order.push(...jidsOf(await qless.json('pop', 9, queue, 'w', 1)));
    expect(order).toEqual(['C0', 'C1', 'C2', 'B0', 'A0']);
  });

  describe('of a lock that has expired', () => {
    const LOST = '{"jid":"jid","event":"lock_lost","worker":"w"}';

    it('warns the owner first, and hands the job over after the grace', async () => {
      await qless.put('jid');
      await qless.q('track', 0, 'track', 'jid');
      await qless.pop(0);
      await expect(qless.events(() => qless.pop(60, 10, 'w2'))).resolves.toEqual([
        ['ql:stalled', 'jid'],
        ['ql:w:w', LOST],
        ['ql:log', LOST],
      ]);
      await expect(qless.job('jid')).resolves.toMatchObject({ state: 'running', worker: 'w', remaining: 5 });
      await expect(qless.redis.zscore('ql:q:q-locks', 'jid')).resolves.toBe('70');
      await expect(qless.events(() => qless.pop(69.9, 10, 'w2'))).resolves.toEqual([]);
      await expect(qless.pop(70, 10, 'w2')).resolves.toEqual(['jid']);
      await expect(qless.job('jid')).resolves.toMatchObject({
        worker: 'w2',
        remaining: 4,
        expires: 130,
        history: [
          { what: 'put' },
          { what: 'popped' },
          { what: 'timed-out', when: 60 },
          { what: 'popped', worker: 'w2' },
        ],
      });
      await expect(qless.json('stats', 0, 'q', 0)).resolves.toMatchObject({ retries: 1 });
    });

    it('reclaims at once without grace', async () => {
      await qless.q('config.set', 0, 'grace-period', 0);
      await qless.put('jid');
      await qless.pop(0);
      await expect(qless.pop(60, 10, 'w2')).resolves.toEqual(['jid']);
      await expect(qless.job('jid')).resolves.toMatchObject({ remaining: 4, worker: 'w2' });
    });

    it('makes N + 1 attempts of N retries, then fails it', async () => {
      await qless.q('config.set', 0, 'grace-period', 0);
      await qless.put('jid', 'retries', 1);
      await expect(qless.pop(0)).resolves.toEqual(['jid']);
      await expect(qless.pop(60)).resolves.toEqual(['jid']);
      const message = 'Job exhausted retries in queue \\"q\\"';
      await expect(qless.events(() => qless.pop(120, 10, 'w2'))).resolves.toEqual([
        ['ql:w:w', LOST],
        ['ql:log', LOST],
        [
          'ql:log',
          `{"message":"${message}","jid":"jid","group":"failed-retries-q","event":"failed","worker":"w"}`,
        ],
      ]);
      await expect(qless.job('jid')).resolves.toMatchObject({
        state: 'failed',
        worker: '',
        expires: 0,
        remaining: -1,
        failure: {
          group: 'failed-retries-q',
          message: 'Job exhausted retries in queue "q"',
          when: 120,
          worker: '',
        },
      });
      await expect(qless.json('failed', 0)).resolves.toEqual({ 'failed-retries-q': 1 });
    });

    it('keeps the message of the last retry with exhausted-keeps-message', async () => {
      await qless.q('config.set', 0, 'grace-period', 0);
      await qless.q('config.set', 0, 'exhausted-keeps-message', 1);
      await qless.put('jid', 'retries', 1);
      await qless.pop(0);
      await qless.q('retry', 1, 'jid', 'q', 'w', 0, 'disk', 'no space');
      await qless.pop(2);
      await qless.pop(62);
      await expect(qless.job('jid')).resolves.toMatchObject({
        failure: { message: 'Job exhausted retries in queue "q": no space' },
      });
    });
  });

  describe('in the form of the first generation', () => {
    legacyRefuses(qless, 'pop', [
      [[], ['w', 1, 0], 'Pop(): Got 0, expected 1 KEYS'],
      [['q'], [], 'Pop(): Arg "now" missing or not a number'],
      [['q'], ['w', 'many', 0], 'Pop(): Arg "count" missing or not a number: many'],
    ]);

    it('returns a list of JSON, reclaims without grace, and publishes nothing', async () => {
      await expect(qless.legacy('pop', ['q'], 'w', 10, 0)).resolves.toEqual([]);
      await qless.put('jid');
      const [text] = (await qless.legacy('pop', ['q'], 'w', 10, 5)) as string[];
      expect(JSON.parse(text ?? '')).toMatchObject({
        jid: 'jid',
        expires: 65,
        data: {},
        history: [{ q: 'q', put: 0, popped: 5, worker: 'w' }],
      });
      const events = await qless.events(() => qless.legacy('pop', ['q'], 'w2', 10, 65));
      expect(events).toEqual([]);
      await expect(qless.job('jid')).resolves.toMatchObject({ worker: 'w2', remaining: 4 });
    });

    it('uses the heartbeat of the queue from that document', async () => {
      await qless.q('config.set', 0, 'heartbeat-q', 7);
      await qless.put('jid');
      await qless.legacy('pop', ['q'], 'w', 10, 0);
      await expect(qless.job('jid')).resolves.toMatchObject({ expires: 7 });
    });
  });
});

describe('peek', () => {
  const qless = useQless();

  refuses(qless, [
    [['peek', 0], 'Peek(): Arg "queue" missing'],
    [['peek', 0, 'q'], 'Peek(): Arg "count" missing or not a number: nil'],
    [['peek', 0, 'q', 'many'], 'Peek(): Arg "count" missing or not a number: many'],
  ]);

  it('returns the jobs that pop would return, and locks none', async () => {
    await qless.put('a');
    await qless.pop(0);
    await qless.put('b');
    await qless.q('put', 0, 'p', 'q', 'c', 'k', '{}', 30);
    await qless.q('recur', 0, 'q', 'r', 'k', '{}', 'interval', 100, 20);
    const events = await qless.events(async () => {
      expect(jidsOf(await qless.json('peek', 60, 'q', 10))).toEqual(['a', 'b', 'r-1', 'c']);
    });
    expect(events).toEqual([]);
    await expect(qless.json('peek', 60, 'q', 1)).resolves.toMatchObject([
      { jid: 'a', worker: 'w', state: 'running' },
    ]);
    await expect(qless.q('peek', 60, 'other', 10)).resolves.toBe('{}');
  });

  describe('in the form of the first generation', () => {
    legacyRefuses(qless, 'peek', [
      [[], [1, 0], 'Peek(): Got 0, expected 1 KEYS'],
      [['q'], [1], 'Peek(): Arg "now" missing or not a number'],
      [['q'], ['many', 0], 'Peek(): Arg "count" missing or not a number: many'],
    ]);

    it('gives a list of JSON', async () => {
      await qless.put('jid');
      const [text] = (await qless.legacy('peek', ['q'], 1, 0)) as string[];
      expect(JSON.parse(text ?? '')).toMatchObject({ jid: 'jid', state: 'waiting' });
    });
  });
});
