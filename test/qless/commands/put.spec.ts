import { describe, expect, it } from '@jest/globals';
import { legacyRefuses, refuses, useQless } from '../qless-rig.js';

describe('put', () => {
  const qless = useQless();

  refuses(qless, [
    [['put'], 'Arg "now" missing or not a number: nil'],
    [['put', 'soon'], 'Arg "now" missing or not a number: soon'],
    [['put', 'nan'], 'Arg "now" missing or not a number: nan'],
    [['put', 'inf', 'w', 'q', 'j', 'k', '{}', 0], 'Arg "now" missing or not a number: inf'],
    [['put', 0], 'Put(): Arg "worker" missing'],
    [['put', 0, 'w'], 'Put(): Arg "queue" missing'],
    [['put', 0, 'w', 'q'], 'Put(): Arg "jid" missing'],
    [['put', 0, 'w', 'q', 'there'], 'Put(): Arg "klass" missing'],
    [['put', 0, 'w', 'q', 'there', 'k'], 'Put(): Arg "data" missing or not JSON: nil'],
    [['put', 0, 'w', 'q', 'there', 'k', '{]', 0], 'Put(): Arg "data" missing or not JSON: {]'],
    [['put', 0, 'w', 'q', 'there', 'k', '{}'], 'Put(): Arg "delay" not a number: nil'],
    [['put', 0, 'w', 'q', 'there', 'k', '{}', 'later'], 'Put(): Arg "delay" not a number: later'],
    [['put', 0, 'w', 'q', 'there', 'k', '{}', 'inf'], 'Put(): Arg "delay" not a number: inf'],
    [['put', 0, 'w', 'q', 'there', 'k', '{}', 0, 'priority'], 'Odd number of additional args: priority'],
    [['put', 0, 'w', 'q', 'there', 'k', '{}', 0, 'priority', 'x'], 'Put(): Arg "priority" not a number: x'],
    [['put', 0, 'w', 'q', 'there', 'k', '{}', 0, 'retries', 'x'], 'Put(): Arg "retries" not a number: x'],
    [['put', 0, 'w', 'q', 'there', 'k', '{}', 0, 'retries', '1e300'], 'Put(): Arg "retries" not a number'],
    [['put', 0, 'w', 'q', 'there', 'k', '{}', 0, 'tags', '{]'], 'Put(): Arg "tags" not JSON: {]'],
    [['put', 0, 'w', 'q', 'there', 'k', '{}', 0, 'tags', '[{}]'], 'Put(): Arg "tags" not JSON: [{}]'],
    [['put', 0, 'w', 'q', 'there', 'k', '{}', 0, 'tags', '7'], 'Put(): Arg "tags" not JSON: 7'],
    [['put', 0, 'w', 'q', 'there', 'k', '{}', 0, 'depends', '{]'], 'Put(): Arg "depends" not JSON: {]'],
    [['put', 0, 'w', 'q', 'there', 'k', '{}', 0, 'depends', '[null]'], 'Put(): Arg "depends" not JSON'],
  ]);

  it('creates a job, whose JSON has exactly these keys', async () => {
    await expect(qless.q('put', 12345, 'w', 'q', 'jid', 'k', '{}', 0)).resolves.toBe('jid');
    await expect(qless.q('get', 12345, 'jid')).resolves.toBe(
      '{"jid":"jid","klass":"k","state":"waiting","queue":"q","worker":"","tracked":false,"priority":0,' +
        '"expires":0,"retries":5,"remaining":5,"data":"{}","tags":{},' +
        '"history":[{"when":12345,"what":"put","q":"q"}],"failure":{},"spawned_from_jid":false,' +
        '"dependents":{},"dependencies":{}}',
    );
  });

  it('writes the keys of the protocol and no others', async () => {
    await qless.put('jid', 'tags', '["a"]');
    expect((await qless.redis.keys('*')).sort()).toEqual([
      'ql:j:jid',
      'ql:j:jid-history',
      'ql:q:q-work',
      'ql:queues',
      'ql:t:a',
      'ql:tags',
    ]);
    await expect(qless.redis.lrange('ql:j:jid-history', 0, -1)).resolves.toEqual(['[0,"put",{"q":"q"}]']);
  });

  it('scores by priority first, then by time', async () => {
    await qless.q('put', 1e9, 'w', 'q', 'a', 'k', '{}', 0, 'priority', 2);
    await expect(qless.redis.zscore('ql:q:q-work', 'a').then(Number)).resolves.toBeCloseTo(1.9, 10);
  });

  it('takes integers for jids, and any number for the time', async () => {
    await expect(qless.q('put', -1.5, 'w', 'q', 7, 'k', '[]', 0)).resolves.toBe('7');
    await expect(qless.job('7')).resolves.toMatchObject({ jid: '7', data: '[]', history: [{ when: -2 }] });
  });

  it('keeps data byte for byte', async () => {
    const data = '{ "empty": [], "big": 12345678901234567890, "text": "é/\\u0000" }';
    await qless.q('put', 0, 'w', 'q', 'jid', 'k', data, 0);
    await expect(qless.job('jid')).resolves.toMatchObject({ data });
  });

  it('schedules delayed jobs', async () => {
    await qless.q('put', 10, 'w', 'q', 'jid', 'k', '{}', 5);
    await expect(qless.job('jid')).resolves.toMatchObject({ state: 'scheduled' });
    await expect(qless.redis.zscore('ql:q:q-scheduled', 'jid')).resolves.toBe('15');
    await expect(qless.pop(14.9)).resolves.toEqual([]);
    await expect(qless.pop(15)).resolves.toEqual(['jid']);
  });

  it('counts only dependencies that exist and are not complete', async () => {
    await qless.put('a');
    await qless.put('done');
    await qless.redis.hset('ql:j:done', 'state', 'complete');
    await qless.redis.zadd('ql:completed', 0, 'done');
    await qless.put('b', 'depends', '["a","done","nobody","b","a"]');
    await expect(qless.job('b')).resolves.toMatchObject({ state: 'depends', dependencies: ['a'] });
    await expect(qless.job('a')).resolves.toMatchObject({ dependents: ['b'] });
    await qless.put('c', 'depends', '["done"]');
    await expect(qless.job('c')).resolves.toMatchObject({ state: 'waiting', dependencies: {} });
  });

  describe('of a job that is there is a move', () => {
    it('keeps options that are not given, and resets the remaining retries', async () => {
      await qless.put('jid', 'priority', 3, 'tags', '["a"]', 'retries', 2);
      await qless.redis.hset('ql:j:jid', 'remaining', 0);
      await qless.q('put', 1, 'p', 'q2', 'jid', 'k2', '{"a":1}', 0);
      await expect(qless.job('jid')).resolves.toMatchObject({
        klass: 'k2',
        queue: 'q2',
        priority: 3,
        tags: ['a'],
        retries: 2,
        remaining: 2,
        data: '{"a":1}',
      });
      await expect(qless.redis.exists('ql:q:q-work')).resolves.toBe(0);
    });

    it('that replaces tags, and counts them exactly', async () => {
      await qless.put('jid', 'tags', '["a","b"]');
      await qless.put('jid', 'tags', '["b","c","c"]');
      await expect(qless.job('jid')).resolves.toMatchObject({ tags: ['b', 'c'] });
      await expect(qless.redis.zrange('ql:tags', '0', '-1', 'WITHSCORES')).resolves.toEqual([
        'b',
        '1',
        'c',
        '1',
      ]);
    });

    it('that keeps dependencies, unless others are given', async () => {
      await qless.put('a');
      await qless.put('b');
      await qless.put('c', 'depends', '["a"]');
      await qless.put('c', 'depends', '[]');
      await expect(qless.job('c')).resolves.toMatchObject({ state: 'depends', dependencies: ['a'] });
      await qless.put('c', 'depends', '["b"]');
      await expect(qless.job('c')).resolves.toMatchObject({ state: 'depends', dependencies: ['b'] });
      await expect(qless.job('a')).resolves.toMatchObject({ dependents: {} });
    });

    it.each([
      [
        'another worker',
        [
          ['ql:log', '{"jid":"jid","event":"put","queue":"q2"}'],
          ['ql:w:w', '{"jid":"jid","event":"lock_lost","worker":"w"}'],
          ['ql:log', '{"jid":"jid","event":"lock_lost","worker":"w"}'],
        ],
      ],
      ['w', [['ql:log', '{"jid":"jid","event":"put","queue":"q2"}']]],
    ])(
      'that takes it from its owner, and publishes that unless the owner puts it: %s',
      async (worker, published) => {
        await qless.put('jid');
        await qless.pop(0);
        const events = await qless.events(() => qless.q('put', 1, worker, 'q2', 'jid', 'k', '{}', 0));
        expect(events).toEqual(published);
        await expect(qless.redis.exists('ql:w:w:jobs', 'ql:q:q-locks')).resolves.toBe(0);
      },
    );

    it('that takes it off the failures, and off the count of the day on which it failed', async () => {
      await qless.put('jid');
      await qless.pop(0);
      await qless.q('fail', 1, 'jid', 'w', 'g', 'm');
      await qless.q('put', 90_000, 'p', 'q2', 'jid', 'k', '{}', 0);
      await expect(qless.json('failed', 0)).resolves.toEqual({});
      await expect(qless.json('stats', 0, 'q', 0)).resolves.toMatchObject({ failed: 0, failures: 1 });
      await expect(qless.json('stats', 0, 'q2', 0)).resolves.toMatchObject({ failed: 0 });
    });

    it('that takes it off the complete jobs', async () => {
      await qless.put('jid');
      await qless.pop(0);
      await qless.q('complete', 1, 'jid', 'w', 'q', '{}');
      await qless.put('jid');
      await expect(qless.redis.exists('ql:completed')).resolves.toBe(0);
      await expect(qless.pop(2)).resolves.toEqual(['jid']);
    });
  });

  it('publishes that a tracked job was put', async () => {
    await qless.put('jid');
    await qless.q('track', 0, 'track', 'jid');
    await expect(qless.events(() => qless.put('jid'))).resolves.toEqual([
      ['ql:log', '{"jid":"jid","event":"put","queue":"q"}'],
      ['ql:put', 'jid'],
    ]);
  });

  describe('in the form of the first generation', () => {
    legacyRefuses(qless, 'put', [
      [[], ['j', 'k', '{}', 0, 0], 'Put(): Got 0, expected 1 KEYS'],
      [['q'], [], 'Put(): Arg "now" missing or not a number'],
      [['q'], ['j', 'k', '{}', 'x', 0], 'Put(): Arg "now" missing or not a number: x'],
      [['q'], ['j', 'k', '{]', 0, 0], 'Put(): Arg "data" missing or not JSON: {]'],
      [['q'], ['j', 'k', '{}', 0], 'Put(): Arg "delay" not a number'],
      [['q'], ['j', 'k', '{}', 0, 5, 'depends', '["there"]'], '"delay" and "depends" are not allowed'],
      [['q'], ['j', 'k', '{}', 0, 0, 'retries'], 'Odd number of additional args'],
    ]);

    it('publishes tracked jobs only, without a prefix', async () => {
      const put = () => qless.legacy('put', ['q'], 'jid', 'k', '{"a":[]}', 5, 0, 'priority', 1);
      await expect(qless.events(put)).resolves.toEqual([]);
      await qless.legacy('track', [], 'track', 'jid', 5);
      await expect(qless.events(put)).resolves.toEqual([['put', 'jid']]);
      const job = JSON.parse(String(await qless.legacy('get', [], 'jid'))) as Record<string, unknown>;
      expect(job).toMatchObject({
        data: { a: [] },
        priority: 1,
        history: [
          { q: 'q', put: 5 },
          { q: 'q', put: 5 },
        ],
      });
      expect(job).not.toHaveProperty('spawned_from_jid');
    });
  });
});

describe('requeue', () => {
  const qless = useQless();

  refuses(qless, [
    [['requeue', 0, 'w', 'q', 'gone', 'k', '{}', 0], 'Requeue(): Job gone does not exist'],
    [['requeue', 0, 'w'], 'Put(): Arg "queue" missing'],
  ]);

  it('puts a job that is there', async () => {
    await qless.put('jid');
    await expect(qless.q('requeue', 1, 'w', 'q2', 'jid', 'k', '{}', 0)).resolves.toBe('jid');
    await expect(qless.job('jid')).resolves.toMatchObject({ queue: 'q2' });
  });
});

describe('put.absent', () => {
  const qless = useQless();

  refuses(qless, [
    [['put.absent', 0, 'w', 'q', 'j', 'k', '{]', 0], 'Put(): Arg "data" missing or not JSON: {]'],
  ]);

  it('puts a job once', async () => {
    await expect(qless.q('put.absent', 0, 'w', 'q', 'jid', 'k', '{}', 0)).resolves.toBe('jid');
    await expect(qless.q('put.absent', 1, 'w', 'q2', 'jid', 'k', '{}', 0)).resolves.toBeNull();
    await expect(qless.job('jid')).resolves.toMatchObject({ queue: 'q' });
  });
});
