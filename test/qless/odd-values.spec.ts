import { describe, expect, it } from '@jest/globals';
import { snapshot, useQless, type Job } from './qless-rig.js';

/** What cjson decodes and JSON.parse does not, and as what it is kept where it goes into a reply as it is. */
const UNSOUND = [
  ['{"a":0x10}', '{"a":16}'],
  ['{"a":01}', '{"a":1}'],
  ['{"a":+1}', '{"a":1}'],
  ['{"a":"raw\nbreak"}', '{"a":"raw\\nbreak"}'],
] as const;
const NOT_JSON = ['{"a":NaN}', '{"a":nan}', '{"a":Infinity}', '{"a":-Infinity}', '{"a":[1e999]}'];

describe('data of one client', () => {
  const qless = useQless();
  const last = async () => ((await qless.job('jid'))['history'] as Job[]).at(-1);

  it.each(UNSOUND)('into a history is repaired if it is not JSON: %j', async (raw, mended) => {
    await qless.put('jid');
    await qless.q('log', 1, 'jid', 'm', raw);
    await expect(last()).resolves.toEqual({ what: 'm', when: 1, ...(JSON.parse(mended) as object) });
    await expect(qless.pop(2)).resolves.toEqual(['jid']);
  });

  it.each(NOT_JSON)('into a history is refused if it can’t be repaired: %j', async (raw) => {
    await qless.put('jid');
    const before = await snapshot(qless.redis);
    await expect(qless.q('log', 1, 'jid', 'm', raw)).rejects.toThrow("Log(): Argument 'data' not cjson");
    expect(await snapshot(qless.redis)).toEqual(before);
  });

  it.each(['{"list":[],"n":12345678901234567890,"f":1.50,"z":-0.0}', '{"t":"\\u00fc\\"\\\\u0041","e":null}'])(
    'into a history stays byte for byte as it is where it is JSON: %j',
    async (data) => {
      await qless.put('jid');
      await qless.q('log', 1, 'jid', 'm', data);
      await expect(qless.redis.lindex('ql:j:jid-history', -1)).resolves.toBe(`[1,"m",${data}]`);
    },
  );

  it('overrides neither the event nor its time, with any escapes', async () => {
    await qless.put('jid');
    await qless.q('log', 1, 'jid', 'm', '{"\\u0077hat":"n","whe\\u006e":2,"a":1}');
    await expect(last()).resolves.toEqual({ what: 'm', when: 1, a: 1 });
  });

  it('into a history by other means does not block the job', async () => {
    await qless.put('jid');
    await qless.redis.rpush('ql:j:jid-history', '[1,"m",{"a":[NaN]}]');
    await qless.redis.hset('ql:j:jid', 'failure', '{"when":NaN}');
    await expect(qless.pop(2)).resolves.toEqual(['jid']);
    await expect(qless.job('jid')).resolves.toMatchObject({ state: 'running', failure: {} });
  });

  it.each(UNSOUND)('as data is data of JSON in the form of the first generation: %j', async (raw, mended) => {
    await qless.legacy('put', ['q'], 'jid', 'k', raw, 0, 0);
    const [job] = (await qless.legacy('pop', ['q'], 'w', 1, 1)) as string[];
    expect(JSON.parse(String(job))).toMatchObject({ jid: 'jid', data: JSON.parse(mended) as unknown });
    await expect(qless.job('jid')).resolves.toMatchObject({ data: raw });
  });

  it('as data that can be no JSON is null in the form of the first generation', async () => {
    await qless.put('jid');
    await qless.q('put', 0, 'p', 'q', 'jid', 'k', '[NaN]', 0);
    const job = await qless.legacy('get', [], 'jid');
    expect(JSON.parse(String(job))).toMatchObject({ data: null });
    await expect(qless.job('jid')).resolves.toMatchObject({ data: '[NaN]' });
  });
});

describe('a setting that is no number', () => {
  const qless = useQless();
  const NO_NUMBERS = ['nan', 'inf', 'sixty', ''];

  it.each(NO_NUMBERS)('has its default, and loses no job: %j', async (value) => {
    for (const option of ['heartbeat', 'grace-period', 'q-max-concurrency', 'max-job-history'])
      await qless.q('config.set', 0, option, value);
    for (const option of ['jobs-history', 'jobs-history-count', 'stats-history', 'max-worker-age'])
      await qless.q('config.set', 0, option, value);
    await qless.put('jid');
    await qless.put('later', 'depends', '["jid"]');
    await expect(qless.pop(0)).resolves.toEqual(['jid']);
    await expect(qless.redis.zscore('ql:q:q-locks', 'jid')).resolves.toBe('60');
    await expect(qless.q('heartbeat', 1, 'jid', 'w')).resolves.toBe(61);
    await expect(qless.q('complete', 2, 'jid', 'w', 'q', '{}')).resolves.toBe('complete');
    await expect(qless.pop(3)).resolves.toEqual(['later']);
  });
});

describe('a key of another type', () => {
  const qless = useQless();

  it('in place of a waiting job is passed over', async () => {
    await qless.redis.rpush('ql:j:odd', 'a list');
    await qless.redis.zadd('ql:q:q-work', 5, 'odd');
    await qless.put('jid');
    await expect(qless.pop(0)).resolves.toEqual(['jid']);
  });

  it('in place of statistics stops nothing', async () => {
    await qless.put('jid');
    for (const key of ['ql:s:wait:0:q', 'ql:s:run:0:q', 'ql:s:stats:0:q']) await qless.redis.set(key, 'text');
    await expect(qless.pop(1)).resolves.toEqual(['jid']);
    await expect(qless.q('fail', 2, 'jid', 'w', 'g', 'm')).resolves.toBe('jid');
    await expect(qless.job('jid')).resolves.toMatchObject({ state: 'failed' });
  });

  it.each(['ql:j:b-history', 'ql:w:w:jobs'])('in the way of pop loses none of its jobs: %s', async (key) => {
    for (const jid of ['a', 'b', 'c']) await qless.put(jid);
    const score = await qless.redis.zscore('ql:q:q-work', 'a');
    await qless.redis.set(key, 'text');
    await expect(qless.pop(1)).rejects.toThrow('WRONGTYPE');
    const places = ['ql:q:q-work', 'ql:q:q-locks'].map((set) => qless.redis.zrange(set, '0', '-1'));
    expect((await Promise.all(places)).flat().toSorted()).toEqual(['a', 'b', 'c']);
    if (key === 'ql:j:b-history') await expect(qless.redis.zscore('ql:q:q-work', 'a')).resolves.toBe(score);
    await qless.redis.del(key);
    const jids = [...(await qless.pop(100)), ...(await qless.pop(200))];
    expect(jids.toSorted()).toEqual(['a', 'b', 'c']);
  });
});

describe('a job', () => {
  const qless = useQless();

  it('shows the history that it has from before histories were lists, in each form', async () => {
    const stages = [
      { q: 'q', put: 1, popped: 2.5, worker: 'w', failed: 3 },
      { q: 'q', put: 4, popped: 5, worker: 'x', done: 6 },
    ];
    await qless.put('jid');
    await qless.redis.hset('ql:j:jid', 'history', JSON.stringify(stages));
    const early = [
      ...[
        { what: 'put', when: 1, q: 'q' },
        { what: 'popped', when: 2, worker: 'w' },
      ],
      ...[
        { what: 'failed', when: 3 },
        { what: 'put', when: 4, q: 'q' },
      ],
      ...[
        { what: 'popped', when: 5, worker: 'x' },
        { what: 'done', when: 6 },
      ],
    ];
    const put = { what: 'put', when: 0, q: 'q' };
    await expect(qless.job('jid')).resolves.toMatchObject({ history: [...early, put] });
    const legacy = JSON.parse(String(await qless.legacy('get', [], 'jid'))) as Job;
    expect(legacy['history']).toEqual([...stages, { q: 'q', put: 0 }]);
  });

  it('of the queue without a name leaves it when it is put elsewhere', async () => {
    await qless.q('put', 0, 'p', '', 'jid', 'k', '{}', 0);
    await qless.put('jid');
    await expect(qless.json('pop', 1, '', 'w', 5)).resolves.toEqual({});
    await expect(qless.pop(1)).resolves.toEqual(['jid']);
  });

  it('that is put after a cancel of very many jids, which named it before it existed, stays', async () => {
    await qless.put('there');
    const jids = Array.from({ length: 600 }, (_, n) => `j${n}`);
    await qless.q('cancel', 0, ...jids, 'there');
    await expect(qless.redis.smembers('ql:cancelling')).resolves.toEqual([]);
    await expect(qless.q('get', 0, 'there')).resolves.toBeNull();
    // As a client with the original's script puts it.
    await qless.redis.hset('ql:j:j599', {
      jid: 'j599',
      klass: 'k',
      state: 'waiting',
      queue: 'q',
      data: '{}',
    });
    for (let calls = 0; calls < 3; calls++) await qless.q('queues', 1);
    await expect(qless.redis.exists('ql:j:j599')).resolves.toBe(1);
  });

  it('has its tags from when it was last given them', async () => {
    await qless.put('a', 'tags', '["t","u"]');
    await qless.q('put', 1, 'p', 'q', 'b', 'k', '{}', 0, 'tags', '["t"]');
    await qless.q('put', 2, 'p', 'q', 'a', 'k', '{}', 0);
    await expect(qless.json('tag', 2, 'get', 't')).resolves.toEqual({ total: 2, jobs: ['b', 'a'] });
    await qless.q('tag', 3, 'add', 'b', 't');
    await expect(qless.json('tag', 3, 'get', 't')).resolves.toEqual({ total: 2, jobs: ['a', 'b'] });
    await expect(qless.redis.zrange('ql:tags', '0', '-1', 'WITHSCORES')).resolves.toEqual([
      'u',
      '1',
      't',
      '2',
    ]);
  });
});
