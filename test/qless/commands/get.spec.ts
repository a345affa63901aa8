import { describe, expect, it } from '@jest/globals';
import { jidsOf, legacyRefuses, refuses, useQless } from '../qless-rig.js';

describe('get', () => {
  const qless = useQless();

  refuses(qless, [[['get', 0], 'Get(): Arg "jid" missing']]);

  it('returns nil if there is no job', async () => {
    await expect(qless.q('get', 0, 'gone')).resolves.toBeNull();
  });

  it('returns strings, numbers and a history as they were written, with any content', async () => {
    const odd = 'a "b" \\ / é \n \u0001';
    await qless.q(
      'put',
      1.5e9,
      odd,
      odd,
      odd,
      odd,
      '"x"',
      0,
      'priority',
      -1.5,
      'tags',
      JSON.stringify([odd]),
    );
    await qless.q('pop', 1.5e9 + 0.25, odd, odd, 1);
    await qless.q('log', 1.5e9 + 1, odd, odd, JSON.stringify({ when: 'x', [odd]: [odd, {}] }));
    await qless.q('log', 1.5e9 + 1, odd, 'plain');
    await qless.q('log', 1.5e9 + 1, odd, 'empty', '{}');
    await expect(qless.json('get', 0, odd)).resolves.toMatchObject({
      jid: odd,
      klass: odd,
      queue: odd,
      worker: odd,
      tags: [odd],
      data: '"x"',
      priority: -1.5,
      expires: 1500000060.25,
      history: [
        { what: 'put', when: 1.5e9, q: odd },
        { what: 'popped', when: 1.5e9, worker: odd },
        { what: odd, when: 1.5e9 + 1, [odd]: [odd, {}] },
        { what: 'plain', when: 1.5e9 + 1 },
        { what: 'empty', when: 1.5e9 + 1 },
      ],
    });
  });

  it('keeps the first entry of a history and the latest others', async () => {
    await qless.q('config.set', 0, 'max-job-history', 3);
    for (let now = 0; now < 10; now++) await qless.q('put', now, 'w', 'q', 'jid', 'k', '{}', 0);
    const times = async () =>
      ((await qless.job('jid'))['history'] as { when: number }[]).map(({ when }) => when);
    await expect(times()).resolves.toEqual([0, 8, 9]);
    await qless.q('config.set', 0, 'max-job-history', 1);
    await qless.q('put', 10, 'w', 'q', 'jid', 'k', '{}', 0);
    await expect(times()).resolves.toEqual([0, 10]);
    await qless.q('put', 11, 'w', 'q', 'jid', 'k', '{}', 0);
    await expect(times()).resolves.toEqual([0, 11]);
    await qless.q('config.set', 0, 'max-job-history', 0);
    for (let now = 12; now < 200; now++) await qless.q('put', now, 'w', 'q', 'jid', 'k', '{}', 0);
    expect(await times()).toHaveLength(190);
  });

  it('keeps a hundred entries by default', async () => {
    for (let now = 0; now < 150; now++) await qless.q('put', now, 'w', 'q', 'jid', 'k', '{}', 0);
    await expect(qless.redis.llen('ql:j:jid-history')).resolves.toBe(100);
  });

  describe('in the form of the first generation', () => {
    legacyRefuses(qless, 'get', [
      [['q'], [], 'Get(): Got 1, expected 0 KEYS'],
      [[], [], 'Get(): Arg "jid" missing'],
    ]);

    it('has a record for each stage, and unchanged data', async () => {
      await qless.q('put', 1, 'p', 'a', 'jid', 'k', '{"list":[],"n":1.0}', 0);
      await qless.q('pop', 2, 'a', 'w', 1);
      await qless.q('complete', 3, 'jid', 'w', 'a', '{"list":[],"n":1.0}', 'next', 'b');
      await qless.q('pop', 4, 'b', 'w2', 1);
      await qless.q('log', 5, 'jid', 'hello');
      const text = String(await qless.legacy('get', [], 'jid'));
      expect(text).toContain('"data":{"list":[],"n":1.0}');
      expect(JSON.parse(text)).toMatchObject({
        history: [
          { q: 'a', put: 1, popped: 2, worker: 'w', done: 3 },
          { q: 'b', put: 3, popped: 4, worker: 'w2' },
        ],
      });
      await expect(qless.legacy('get', [], 'gone')).resolves.toBeNull();
    });
  });
});

describe('multiget', () => {
  const qless = useQless();

  refuses(qless, [
    [['multiget'], 'Arg "now" missing'],
    [['multiget', 'x', 'there'], 'Arg "now" missing or not a number: x'],
  ]);

  it('gives those that exist, in the order asked for', async () => {
    for (const jid of ['a', 'b']) await qless.put(jid);
    expect(jidsOf(await qless.json('multiget', 0, 'b', 'gone', 'a'))).toEqual(['b', 'a']);
    await expect(qless.q('multiget', 0)).resolves.toBe('{}');
    await expect(qless.q('multiget', 0, 'gone')).resolves.toBe('{}');
  });
});

describe('log', () => {
  const qless = useQless();

  refuses(qless, [
    [['log', 0], "Log(): Argument 'jid' missing"],
    [['log', 0, 'there'], "Log(): Argument 'message' missing"],
    [['log', 0, 'there', 'm', '{]'], "Log(): Argument 'data' not cjson: {]"],
    [['log', 0, 'there', 'm', '7'], "Log(): Argument 'data' not cjson: 7"],
    [['log', 0, 'gone', 'm'], 'Log(): Job gone does not exist'],
  ]);

  it('appends to the history, and publishes nothing', async () => {
    await qless.put('jid');
    const events = await qless.events(async () => {
      await expect(qless.q('log', 3, 'jid', 'hello', '{"a":1}')).resolves.toBeNull();
    });
    expect(events).toEqual([]);
    await expect(qless.job('jid')).resolves.toMatchObject({
      history: [{}, { what: 'hello', when: 3, a: 1 }],
    });
  });
});
