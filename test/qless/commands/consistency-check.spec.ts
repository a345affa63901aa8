import { describe, expect, it } from '@jest/globals';
import { legacyRefuses, refuses, useQless } from '../qless-rig.js';

interface Report {
  readonly checked: number;
  readonly problems: readonly { readonly what: string; readonly key: string; readonly id: string }[];
  readonly cursor: string;
}

describe('consistency.check', () => {
  const qless = useQless();
  const check = (...args: (string | number)[]) => qless.json<Report>('consistency.check', 0, ...args);

  refuses(qless, [
    [['consistency.check', 0, 'please'], 'Check(): Arg "resolve" must be "resolve" or empty: please'],
    [['consistency.check', 0, '', 'x'], 'Check(): Arg "cursor" is none that was returned: x'],
  ]);

  it('finds nothing in consistent data', async () => {
    for (const jid of ['a', 'b', 'c']) await qless.put(jid, 'tags', '["t"]');
    await qless.put('d', 'depends', '["a"]');
    await qless.pop(0, 1);
    await qless.q('recur', 0, 'q', 'r', 'k', '{}', 'interval', 60, 60);
    await expect(check()).resolves.toMatchObject({ problems: {}, cursor: '' });
  });

  it.each([
    ['a waiting job that is gone', ['zadd', 'ql:q:q-work', 1, 'x'], 'job is gone'],
    ['a locked job that is gone', ['zadd', 'ql:q:q-locks', 1, 'x'], 'job is gone'],
    ['a scheduled job that waits', ['zadd', 'ql:q:q-scheduled', 1, 'a'], 'job is waiting'],
    ['a job of another queue', ['hset', 'ql:j:a', 'queue', 'n'], 'job is in another queue: n'],
    ['a recurring job that is gone', ['zadd', 'ql:q:q-recur', 1, 'x'], 'recurring job is gone'],
    ['a worker with a job that waits', ['zadd', 'ql:w:w:jobs', 1, 'a'], 'job is waiting'],
    ['a failed job that waits', ['lpush', 'ql:f:g', 'a'], 'job is waiting'],
    ['a complete job that is gone', ['zadd', 'ql:completed', 1, 'x'], 'job is gone'],
    ['a tag that counts too many', ['zadd', 'ql:tags', 7, 't'], 'tag counts 7 jobs and has 1'],
    ['a tag without jobs', ['zadd', 'ql:tags', 2, 'none'], 'tag counts 2 jobs and has 0'],
    [
      'a dependency that is gone',
      ['sadd', 'ql:j:d-dependencies', 'x'],
      'job depends on one that is gone or complete',
    ],
    ['a job that depends on nothing', ['del', 'ql:j:d-dependencies'], 'job depends on nothing'],
  ] as const)('finds %s, and puts it right when asked to', async (_, [command, ...args], what) => {
    await qless.put('a', 'tags', '["t"]');
    await qless.put('b');
    await qless.put('d', 'depends', '["b"]');
    await qless.q('pop', 0, 'n', 'w', 1);
    await qless.redis.sadd('ql:failures', 'g');
    await qless.redis.call(command, ...args);
    await expect(check()).resolves.toMatchObject({ problems: [{ what }], cursor: '' });
    await expect(check('resolve')).resolves.toMatchObject({ problems: [{ what }] });
    await expect(check()).resolves.toMatchObject({ problems: {} });
  });

  it('unblocks a job whose dependencies are gone', async () => {
    await qless.put('b');
    await qless.put('d', 'depends', '["b"]');
    await qless.redis.del('ql:j:b');
    await check('resolve');
    await expect(qless.job('d')).resolves.toMatchObject({ state: 'waiting', dependencies: {} });
  });

  it('continues where it ended, and checks each id once', async () => {
    const gone = Array.from({ length: 2500 }, (_, i) => [i, `gone-${i}`]).flat();
    await qless.q('recur', 0, 'q', 'r', 'k', '{}', 'interval', 60, 60);
    await qless.redis.zadd('ql:q:q-work', ...gone);
    const ids = [];
    for (let cursor: string | undefined; cursor !== '';) {
      const report: Report = await check('resolve', ...(cursor === undefined ? [] : [cursor]));
      expect(report.checked).toBeLessThanOrEqual(500);
      if (Array.isArray(report.problems)) ids.push(...report.problems.map(({ id }) => id));
      cursor = report.cursor;
    }
    expect(new Set(ids).size).toBe(2500);
    await expect(qless.redis.exists('ql:q:q-work')).resolves.toBe(0);
  });

  describe('in the form of the first generation', () => {
    legacyRefuses(qless, 'consistencycheck', [
      [['q'], [], 'ConsistencyCheck(): Got 1, expected 0 KEYS'],
      [[], ['please'], 'Check(): Arg "resolve" must be "resolve" or empty: please'],
    ]);

    it('gives the same', async () => {
      await qless.put('jid');
      await expect(qless.legacy('consistencycheck', [])).resolves.toBe(await qless.q('consistency.check', 0));
    });
  });
});
