import { describe, expect, it } from '@jest/globals';
import { legacyRefuses, refuses, useQless } from '../qless-rig.js';

describe('recur', () => {
  const qless = useQless();
  const recur = (now: number, ...rest: readonly (string | number)[]) =>
    qless.q('recur', now, 'q', 'r', 'k', '{}', 'interval', ...rest);

  refuses(qless, [
    [['recur', 0], 'Recur(): Arg "queue" missing'],
    [['recur', 0, 'q'], 'Recur(): Arg "jid" missing'],
    [['recur', 0, 'q', 'r'], 'Recur(): Arg "klass" missing'],
    [['recur', 0, 'q', 'r', 'k'], 'Recur(): Arg "data" not JSON: nil'],
    [['recur', 0, 'q', 'r', 'k', '{]'], 'Recur(): Arg "data" not JSON: {]'],
    [['recur', 0, 'q', 'r', 'k', '{}'], 'Recur(): Arg "spec" missing'],
    [['recur', 0, 'q', 'r', 'k', '{}', 'cron'], 'Recur(): schedule type "cron" unknown'],
    [['recur', 0, 'q', 'r', 'k', '{}', 'interval'], 'Recur(): Arg "interval" not a number: nil'],
    [['recur', 0, 'q', 'r', 'k', '{}', 'interval', 'x'], 'Recur(): Arg "interval" not a number: x'],
    [['recur', 0, 'q', 'r', 'k', '{}', 'interval', 5], 'Recur(): Arg "offset" not a number: nil'],
    [['recur', 0, 'q', 'r', 'k', '{}', 'interval', 5, 'x'], 'Recur(): Arg "offset" not a number: x'],
    [['recur', 0, 'q', 'r', 'k', '{}', 'interval', 0, 0], 'Recur(): Arg "interval" must be greater than 0'],
    [['recur', 0, 'q', 'r', 'k', '{}', 'interval', 5, 0, 'tags'], 'Odd number of additional args: tags'],
    [
      ['recur', 0, 'q', 'r', 'k', '{}', 'interval', 5, 0, 'tags', '{]'],
      'Recur(): Arg "tags" must be JSON string array: {]',
    ],
    [
      ['recur', 0, 'q', 'r', 'k', '{}', 'interval', 5, 0, 'priority', 'x'],
      'Recur(): Arg "priority" not a number: x',
    ],
    [
      ['recur', 0, 'q', 'r', 'k', '{}', 'interval', 5, 0, 'retries', 'x'],
      'Recur(): Arg "retries" not a number: x',
    ],
    [
      ['recur', 0, 'q', 'r', 'k', '{}', 'interval', 5, 0, 'backlog', 'x'],
      'Recur(): Arg "backlog" not a number: x',
    ],
    [['recur.get', 0], 'Recur(): Arg "jid" missing'],
    [['recur.update', 0], 'Recur(): Arg "jid" missing'],
    [['recur.update', 0, 'gone'], 'Recur(): No recurring job gone'],
    [['recur.tag', 0], 'Tag(): Arg "jid" missing'],
    [['recur.tag', 0, 'gone', 'a'], 'Tag(): Job gone does not exist'],
    [['recur.untag', 0, 'gone', 'a'], 'Untag(): Job gone does not exist'],
    [['unrecur', 0], 'Unrecur(): Arg "jid" missing'],
  ]);

  it('spawns a job whenever one is due, with the time at which it was', async () => {
    await expect(recur(0, 60, 10, 'tags', '["t"]', 'priority', 3, 'retries', 2)).resolves.toBe('r');
    await expect(qless.pop(9)).resolves.toEqual([]);
    const events = await qless.events(async () => expect(await qless.pop(12)).toEqual(['r-1']));
    expect(events).toEqual([]);
    await expect(qless.job('r-1')).resolves.toMatchObject({
      klass: 'k',
      priority: 3,
      retries: 2,
      remaining: 2,
      tags: ['t'],
      spawned_from_jid: 'r',
      history: [
        { what: 'put', when: 10, q: 'q' },
        { what: 'popped', when: 12 },
      ],
    });
    await expect(qless.pop(69)).resolves.toEqual([]);
    await expect(qless.pop(70)).resolves.toEqual(['r-2']);
    await expect(qless.json('tag', 0, 'get', 't')).resolves.toMatchObject({ total: 2 });
    await expect(qless.json('recur.get', 0, 'r')).resolves.toEqual({
      jid: 'r',
      klass: 'k',
      state: 'recur',
      queue: 'q',
      priority: 3,
      interval: 60,
      retries: 2,
      count: 2,
      data: '{}',
      tags: ['t'],
      backlog: 0,
    });
  });

  it('catches up on missed runs, as many as are asked for', async () => {
    await recur(0, 10, 0);
    await expect(qless.pop(35, 3)).resolves.toEqual(['r-1', 'r-2', 'r-3']);
    await expect(qless.pop(35, 3)).resolves.toEqual(['r-4']);
    await expect(qless.pop(35, 3)).resolves.toEqual([]);
  });

  it('runs at whole seconds if its interval is whole seconds', async () => {
    await recur(0.75, 60, 0);
    await expect(qless.pop(1)).resolves.toEqual(['r-1']);
    await expect(qless.redis.zscore('ql:q:q-recur', 'r')).resolves.toBe('60');
  });

  it.each([
    [1, 2],
    [3, 4],
  ])('with a backlog of %d makes up for %d', async (backlog, children) => {
    await recur(0, 10, 0, 'backlog', backlog);
    await expect(qless.json<unknown[]>('peek', 1000, 'q', 100)).resolves.toHaveLength(children);
    const times = (await qless.json<{ history: { when: number }[] }[]>('peek', 1000, 'q', 100)).map(
      ({ history }) => history[0]?.when,
    );
    expect(Math.max(...times.map(Number))).toBe(1000);
  });

  it('keeps its phase and its count when it is put again, also into another queue', async () => {
    await recur(0, 0.5, 0.25);
    await expect(qless.pop(1)).resolves.toEqual(['r-1', 'r-2']);
    await expect(qless.redis.zscore('ql:q:q-recur', 'r')).resolves.toBe('1.25');
    await qless.q('recur', 2, 'n', 'r', 'k2', '[]', 'interval', 5, 0);
    await expect(qless.json('recur.get', 0, 'r')).resolves.toMatchObject({
      queue: 'n',
      klass: 'k2',
      count: 2,
    });
    await expect(qless.redis.exists('ql:q:q-recur')).resolves.toBe(0);
    await expect(qless.json('pop', 2, 'n', 'w', 1)).resolves.toMatchObject([{ jid: 'r-3', klass: 'k2' }]);
  });

  it('ends with unrecur; its children stay', async () => {
    await recur(0, 10, 0);
    await qless.q('peek', 0, 'q', 1);
    await expect(qless.q('unrecur', 0, 'r')).resolves.toBe(1);
    await expect(qless.q('unrecur', 0, 'r')).resolves.toBe(1);
    await expect(qless.q('recur.get', 0, 'r')).resolves.toBeNull();
    await expect(qless.pop(100)).resolves.toEqual(['r-1']);
  });

  describe('update', () => {
    it.each([
      [['interval', 'x'], 'Recur(): Arg "interval" must be a number: x'],
      [['interval', 0], 'Recur(): Arg "interval" must be greater than 0'],
      [['priority', 'x'], 'Recur(): Arg "priority" must be a number: x'],
      [['retries', 'x'], 'Recur(): Arg "retries" must be a number: x'],
      [['backlog', 'x'], 'Recur(): Arg "backlog" must be a number: x'],
      [['data', '{]'], 'Recur(): Arg "data" is not JSON-encoded: {]'],
      [['klass', 'k2', 'color', 'red'], 'Recur(): Unrecognized option "color"'],
      [['klass'], 'Odd number of additional args: klass'],
    ])('refuses %j, and writes nothing', async (args, message) => {
      await recur(0, 60, 0);
      const before = await qless.q('recur.get', 0, 'r');
      await expect(qless.q('recur.update', 0, 'r', ...args)).rejects.toThrow(message);
      await expect(qless.q('recur.get', 0, 'r')).resolves.toBe(before);
    });

    it('changes everything, and shifts the next run by the difference of the intervals', async () => {
      await recur(0, 60, 100);
      const given = {
        interval: 10,
        priority: 2,
        retries: 3,
        data: '[]',
        klass: 'k2',
        queue: 'n',
        backlog: 4,
      };
      await expect(qless.q('recur.update', 5, 'r', ...Object.entries(given).flat())).resolves.toBe(1);
      await expect(qless.json('recur.get', 0, 'r')).resolves.toMatchObject(given);
      await expect(qless.redis.zscore('ql:q:n-recur', 'r')).resolves.toBe('50');
      await expect(qless.redis.zscore('ql:q:q-recur', 'r')).resolves.toBeNull();
      await expect(qless.redis.zscore('ql:queues', 'n')).resolves.toBe('5');
    });
  });

  it('gives children to come the tags that it is given', async () => {
    await recur(0, 10, 0);
    await expect(qless.json('recur.tag', 0, 'r', 'a', 'b', 'a')).resolves.toEqual(['a', 'b']);
    await expect(qless.json('recur.untag', 0, 'r', 'a', 'unknown')).resolves.toEqual(['b']);
    await expect(qless.json('pop', 0, 'q', 'w', 1)).resolves.toMatchObject([{ tags: ['b'] }]);
    await expect(qless.json('recur.untag', 0, 'r', 'b')).resolves.toEqual({});
  });

  describe('in the form of the first generation', () => {
    legacyRefuses(qless, 'recur', [
      [['q'], [], 'Recur(): Got 1, expected 0 KEYS'],
      [[], [], 'Recur(): First argument must be one of on, off, get, update, tag, untag. Got nil'],
      [[], ['on', 'q', 'r', 'k', '{}', 'x'], 'Recur(): Arg "now" missing or not a number: x'],
      [
        [],
        ['on', 'q', 'r', 'k', '{}', 0, 'interval', 0, 0],
        'Recur(): Arg "interval" must be greater than 0',
      ],
      [[], ['get'], 'Recur(): Arg "jid" missing'],
    ]);

    it('does all of that, and returns nil if there is none', async () => {
      const on = ['on', 'q', 'r', 'k', '{"a":[]}', 0, 'interval', 10, 0, 'tags', '["a"]'];
      await expect(qless.legacy('recur', [], ...on)).resolves.toBe('r');
      const text = String(await qless.legacy('recur', [], 'get', 'r'));
      expect(JSON.parse(text)).toMatchObject({ jid: 'r', data: { a: [] }, tags: ['a'], count: 0 });
      await expect(qless.legacy('recur', [], 'update', 'r', 'interval', 20)).resolves.toBe(1);
      await expect(qless.legacy('recur', [], 'tag', 'r', 'b')).resolves.toBe('["a","b"]');
      await expect(qless.legacy('recur', [], 'untag', 'r', 'a')).resolves.toBe('["b"]');
      await expect(qless.legacy('recur', [], 'off', 'r')).resolves.toBe(1);
      for (const command of ['get', 'update', 'tag', 'untag']) {
        await expect(qless.legacy('recur', [], command, 'r')).resolves.toBeNull();
      }
    });
  });
});
