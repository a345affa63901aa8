import { describe, expect, it } from '@jest/globals';
import { legacyRefuses, refuses, useQless } from '../qless-rig.js';

describe('depends', () => {
  const qless = useQless();

  refuses(qless, [
    [['depends', 0], 'Depends(): Arg "jid" missing'],
    [['depends', 0, 'there'], 'Depends(): Arg "command" missing'],
    [['depends', 0, 'there', 'upon', 'a'], 'Depends(): Argument "command" must be "on" or "off"'],
    [['depends', 0, 'there', 'on', 'a'], 'Depends(): Job there not in the depends state: '],
    [['depends', 0, 'gone', 'off', 'all'], 'Depends(): Job gone not in the depends state: false'],
  ]);

  const setUp = async () => {
    for (const jid of ['a', 'b']) await qless.put(jid);
    await qless.put('c', 'depends', '["a"]');
  };

  it('adds dependencies that exist', async () => {
    await setUp();
    await expect(qless.q('depends', 0, 'c', 'on', 'b', 'gone')).resolves.toBe(1);
    await expect(qless.redis.smembers('ql:j:c-dependencies').then((on) => on.sort())).resolves.toEqual([
      'a',
      'b',
    ]);
    await expect(qless.job('b')).resolves.toMatchObject({ dependents: ['c'] });
  });

  it.each([[['a']], [['all']], [['a', 'unknown']]])(
    'takes dependencies away; with the last the job waits: %j',
    async (off) => {
      await setUp();
      await expect(qless.q('depends', 1, 'c', 'off', ...off)).resolves.toBe(1);
      await expect(qless.job('c')).resolves.toMatchObject({ state: 'waiting', dependencies: {} });
      await expect(qless.job('a')).resolves.toMatchObject({ dependents: {} });
      await expect(qless.pop(2)).resolves.toContain('c');
    },
  );

  it('keeps the job in depends while others are left', async () => {
    await setUp();
    await qless.q('depends', 0, 'c', 'on', 'b');
    await qless.q('depends', 0, 'c', 'off', 'a');
    await expect(qless.job('c')).resolves.toMatchObject({ state: 'depends', dependencies: ['b'] });
  });

  describe('in the form of the first generation', () => {
    legacyRefuses(qless, 'depends', [
      [['q'], [], 'Depends(): Got 1, expected 0 KEYS'],
      [[], ['there'], 'Depends(): Arg "command" missing'],
      [[], ['there', 'upon'], 'Depends(): Argument "command" must be "on" or "off"'],
    ]);

    it('returns nil if the job depends on none', async () => {
      await setUp();
      await expect(qless.legacy('depends', [], 'a', 'on', 'b')).resolves.toBeNull();
      await expect(qless.legacy('depends', [], 'c', 'on', 'b')).resolves.toBe(1);
      await expect(qless.legacy('depends', [], 'c', 'off', 'all')).resolves.toBe(1);
      await expect(qless.job('c')).resolves.toMatchObject({ state: 'waiting' });
    });
  });
});

describe('priority', () => {
  const qless = useQless();

  refuses(qless, [
    [['priority', 0], 'Priority(): Arg "jid" missing'],
    [['priority', 0, 'there'], 'Priority(): Arg "priority" missing or not a number: nil'],
    [['priority', 0, 'there', 'x'], 'Priority(): Arg "priority" missing or not a number: x'],
    [['priority', 0, 'gone', 1], 'Priority(): Job gone does not exist'],
  ]);

  it('gives the integer, and moves a job that waits', async () => {
    await qless.q('put', 0, 'p', 'q', 'a', 'k', '{}', 0);
    await qless.q('put', 1, 'p', 'q', 'b', 'k', '{}', 0);
    await qless.q('put', 2, 'p', 'q', 'c', 'k', '{}', 0);
    await expect(qless.q('priority', 3, 'c', '5.5')).resolves.toBe(5);
    await qless.q('priority', 3, 'b', 5.5);
    await expect(qless.job('b')).resolves.toMatchObject({ priority: 5.5 });
    await expect(qless.pop(4)).resolves.toEqual(['b', 'c', 'a']);
  });

  it.each(['running', 'complete', 'stalled'])('of a job that is %s moves nothing', async (state) => {
    await qless.put('jid');
    await qless.pop(0);
    if (state === 'complete') await qless.q('complete', 0, 'jid', 'w', 'q', '{}');
    if (state === 'stalled') await qless.q('timeout', 0, 'jid');
    const work = () => qless.redis.zrange('ql:q:q-work', '0', '-1', 'WITHSCORES');
    const before = await work();
    await expect(qless.q('priority', 1, 'jid', -3)).resolves.toBe(-3);
    await expect(qless.job('jid')).resolves.toMatchObject({ priority: -3, state });
    await expect(work()).resolves.toEqual(before);
  });

  describe('in the form of the first generation', () => {
    legacyRefuses(qless, 'priority', [
      [['q'], [], 'Priority(): Got 1, expected 0 KEYS'],
      [[], ['there', 'x'], 'Priority(): Arg "priority" missing or not a number: x'],
    ]);

    it('returns nil if there is no job', async () => {
      await qless.put('jid');
      await expect(qless.legacy('priority', [], 'gone', 1)).resolves.toBeNull();
      await expect(qless.legacy('priority', [], 'jid', 1)).resolves.toBe(1);
    });
  });
});
