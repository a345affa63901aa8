import { describe, expect, it } from '@jest/globals';
import { legacyRefuses, refuses, useQless, type Qless } from '../qless-rig.js';

async function failAll(qless: Qless, jids: readonly string[], group = 'g') {
  for (const jid of jids) {
    await qless.put(jid);
    await qless.pop(0);
    await qless.q('fail', 1, jid, 'w', group, 'm');
  }
}

describe('failed', () => {
  const qless = useQless();

  refuses(qless, [
    [['failed', 0, 'g', 'x'], 'Failed(): Arg "start" is not a number: x'],
    [['failed', 0, 'g', 0, 'x'], 'Failed(): Arg "limit" is not a number: x'],
  ]);

  it('counts by group, and gives jids, the latest first, page by page', async () => {
    await expect(qless.json('failed', 0)).resolves.toEqual({});
    await failAll(qless, ['a', 'b', 'c']);
    await failAll(qless, ['d'], 'h');
    await expect(qless.json('failed', 0)).resolves.toEqual({ g: 3, h: 1 });
    await expect(qless.json('failed', 0, 'g')).resolves.toEqual({ total: 3, jobs: ['c', 'b', 'a'] });
    await expect(qless.json('failed', 0, 'g', 1, 1)).resolves.toEqual({ total: 3, jobs: ['b'] });
    await expect(qless.json('failed', 0, 'g', 0, 0)).resolves.toEqual({ total: 3, jobs: ['c', 'b', 'a'] });
    await expect(qless.json('failed', 0, 'none')).resolves.toEqual({ total: 0, jobs: {} });
  });

  describe('in the form of the first generation', () => {
    legacyRefuses(qless, 'failed', [
      [['q'], [], 'Failed(): Got 1, expected 0 KEYS'],
      [[], ['g', 'x'], 'Failed(): Arg "start" is not a number: x'],
    ]);

    it('gives whole jobs', async () => {
      await failAll(qless, ['a', 'b']);
      await expect(qless.legacy('failed', [])).resolves.toBe('{"g":2}');
      const page = JSON.parse(String(await qless.legacy('failed', [], 'g', 0, 1))) as object;
      expect(page).toMatchObject({
        total: 2,
        jobs: [{ jid: 'b', data: {}, failure: { group: 'g', message: 'm' } }],
      });
    });
  });
});

describe('unfail', () => {
  const qless = useQless();

  refuses(qless, [
    [['unfail', 0], 'Unfail(): Arg "queue" missing'],
    [['unfail', 0, 'q'], 'Unfail(): Arg "group" missing'],
    [['unfail', 0, 'q', 'g', 'x'], 'Unfail(): Arg "count" not a number: x'],
  ]);

  it('puts the oldest back with all their retries', async () => {
    await failAll(qless, ['a', 'b', 'c']);
    await qless.redis.hset('ql:j:a', 'remaining', 1);
    await expect(qless.q('unfail', 5, 'n', 'g', 2)).resolves.toBe(2);
    await expect(qless.json('failed', 0)).resolves.toEqual({ g: 1 });
    await expect(qless.job('a')).resolves.toMatchObject({ state: 'waiting', queue: 'n', remaining: 5 });
    await expect(qless.job('c')).resolves.toMatchObject({ state: 'failed' });
    await expect(
      qless.q('jobs', 0, 'waiting', 'n').then((jids) => (jids as string[]).sort()),
    ).resolves.toEqual(['a', 'b']);
    await expect(qless.q('unfail', 5, 'n', 'g')).resolves.toBe(1);
    await expect(qless.q('unfail', 5, 'n', 'g')).resolves.toBe(0);
    await expect(qless.redis.exists('ql:failures', 'ql:f:g')).resolves.toBe(0);
  });

  it('keeps the failure, so that people see the last error, until the job is complete', async () => {
    await failAll(qless, ['a']);
    const { failure } = await qless.job('a');
    expect(failure).toMatchObject({ group: 'g' });
    await qless.q('unfail', 5, 'n', 'g');
    await expect(qless.job('a')).resolves.toMatchObject({ state: 'waiting', failure });
    await qless.q('pop', 6, 'n', 'w', 1);
    await expect(qless.job('a')).resolves.toMatchObject({ state: 'running', failure });
    await qless.q('complete', 7, 'a', 'w', 'n', '{}');
    await expect(qless.job('a')).resolves.toMatchObject({ state: 'complete', failure: {} });
  });

  it('keeps a failure that counts no more: a job that waits again is cancelled as any other', async () => {
    await failAll(qless, ['a']);
    await qless.q('unfail', 5, 'n', 'g');
    await failAll(qless, ['b']);
    await qless.q('cancel', 6, 'a');
    await expect(qless.json('failed', 6)).resolves.toEqual({ g: 1 });
    await expect(qless.json('consistency.check', 6)).resolves.toMatchObject({ problems: {} });
  });
});
