import { describe, expect, it } from '@jest/globals';
import { legacyRefuses, refuses, useQless } from '../qless-rig.js';

describe('tag', () => {
  const qless = useQless();

  refuses(qless, [
    [['tag', 0], 'Tag(): Arg "command" must be "add", "remove", "get" or "top"'],
    [['tag', 0, 'show'], 'Tag(): First argument must be "add", "remove", "get" or "top"'],
    [['tag', 0, 'add'], 'Tag(): Arg "jid" missing'],
    [['tag', 0, 'add', 'gone', 'a'], 'Tag(): Job gone does not exist'],
    [['tag', 0, 'remove', 'gone', 'a'], 'Tag(): Job gone does not exist'],
    [['tag', 0, 'get'], 'Tag(): Arg "tag" missing'],
    [['tag', 0, 'get', 'a', 'x'], 'Tag(): Arg "offset" not a number: x'],
    [['tag', 0, 'get', 'a', 0, 'x'], 'Tag(): Arg "count" not a number: x'],
    [['tag', 0, 'top', 'x'], 'Tag(): Arg "offset" not a number: x'],
    [['tag', 0, 'top', 0, 'x'], 'Tag(): Arg "count" not a number: x'],
  ]);

  it('adds and removes, and gives the tags', async () => {
    await qless.put('jid');
    await expect(qless.json('tag', 1, 'add', 'jid', 'a', 'b')).resolves.toEqual(['a', 'b']);
    await expect(qless.json('tag', 2, 'add', 'jid', 'b', 'c')).resolves.toEqual(['a', 'b', 'c']);
    await expect(qless.json('tag', 3, 'remove', 'jid', 'a', 'c', 'unknown')).resolves.toEqual(['b']);
    await expect(qless.json('tag', 3, 'remove', 'jid', 'b')).resolves.toEqual({});
    await expect(qless.redis.exists('ql:tags', 'ql:t:a', 'ql:t:b')).resolves.toBe(0);
  });

  it("gives a tag's jobs, the oldest first, page by page", async () => {
    for (const [at, jid] of [
      [3, 'a'],
      [1, 'b'],
      [2, 'c'],
    ] as const) {
      await qless.put(jid);
      await qless.q('tag', at, 'add', jid, 't');
    }
    await expect(qless.json('tag', 0, 'get', 't')).resolves.toEqual({ total: 3, jobs: ['b', 'c', 'a'] });
    await expect(qless.json('tag', 0, 'get', 't', 1, 1)).resolves.toEqual({ total: 3, jobs: ['c'] });
    await expect(qless.json('tag', 0, 'get', 't', 0, 0)).resolves.toEqual({
      total: 3,
      jobs: ['b', 'c', 'a'],
    });
    await expect(qless.json('tag', 0, 'get', 'none')).resolves.toEqual({ total: 0, jobs: {} });
  });

  it('gives the tags that two jobs or more have, the most used first', async () => {
    await qless.put('a', 'tags', '["x","y","z"]');
    await qless.put('b', 'tags', '["x","y"]');
    await qless.put('c', 'tags', '["y"]');
    await expect(qless.json('tag', 0, 'top')).resolves.toEqual(['y', 'x']);
    await expect(qless.json('tag', 0, 'top', 1, 5)).resolves.toEqual(['x']);
    await qless.q('cancel', 0, 'b', 'c');
    await expect(qless.json('tag', 0, 'top')).resolves.toEqual({});
  });

  describe('in the form of the first generation', () => {
    legacyRefuses(qless, 'tag', [
      [['q'], [], 'Tag(): Got 1, expected 0 KEYS'],
      [[], ['add', 'there', 'x', 't'], 'Tag(): Arg "now" missing or not a number: x'],
      [[], ['show'], 'Tag(): First argument must be'],
    ]);

    it('has the time behind the jid, and returns nil if there is no job', async () => {
      await qless.put('jid');
      await expect(qless.legacy('tag', [], 'add', 'gone', 1, 'a')).resolves.toBeNull();
      await expect(qless.legacy('tag', [], 'add', 'jid', 1, 'a', 'b')).resolves.toBe('["a","b"]');
      await expect(qless.legacy('tag', [], 'remove', 'jid', 1, 'a')).resolves.toBe('["b"]');
      await expect(qless.legacy('tag', [], 'get', 'b').then(String).then(JSON.parse)).resolves.toEqual({
        total: 1,
        jobs: ['jid'],
      });
      await expect(qless.legacy('tag', [], 'top')).resolves.toBe('{}');
    });
  });
});

describe('track', () => {
  const qless = useQless();

  refuses(qless, [
    [['track', 0, 'track'], 'Track(): Arg "jid" missing'],
    [['track', 0, 'follow', 'there'], 'Track(): Unknown action "follow"'],
    [['track', 0, 'track', 'gone'], 'Track(): Job does not exist'],
    [['track', 0, 'untrack', 'gone'], 'Track(): Job does not exist'],
  ]);

  it('tracks, publishes that, and returns whether it was new', async () => {
    await qless.put('jid');
    const events = await qless.events(async () => {
      await expect(qless.q('track', 1, 'track', 'jid')).resolves.toBe('1');
      await expect(qless.q('track', 2, 'Track', 'jid')).resolves.toBe('0');
      await expect(qless.q('track', 3, 'untrack', 'jid')).resolves.toBe('1');
      await expect(qless.q('track', 3, 'untrack', 'jid')).resolves.toBe('0');
    });
    expect(events).toEqual(['track', 'track', 'untrack', 'untrack'].map((kind) => [`ql:${kind}`, 'jid']));
  });

  it('returns the tracked jobs, and the jids of deleted ones', async () => {
    await expect(qless.json('track', 0)).resolves.toEqual({ jobs: {}, expired: {} });
    for (const jid of ['a', 'b']) {
      await qless.put(jid);
      await qless.q('track', 0, 'track', jid);
    }
    await qless.q('cancel', 0, 'a');
    await expect(qless.json('track', 0)).resolves.toEqual({
      jobs: [expect.objectContaining({ jid: 'b', tracked: true })],
      expired: ['a'],
    });
  });

  describe('in the form of the first generation', () => {
    legacyRefuses(qless, 'track', [
      [['q'], [], 'Track(): Got 1, expected 0 KEYS'],
      [[], ['track', 'there'], 'Track(): Arg "now" missing or not a number'],
      [[], ['follow', 'there', 0], 'Track(): Unknown action "follow"'],
    ]);

    it('tags too, publishes without a prefix, and returns an integer or nil', async () => {
      await qless.put('jid');
      await expect(qless.legacy('track', [], 'track', 'gone', 0)).resolves.toBeNull();
      const events = await qless.events(async () => {
        await expect(qless.legacy('track', [], 'track', 'jid', 0, 'a', 'b')).resolves.toBe(1);
        await expect(qless.legacy('track', [], 'untrack', 'jid', 0)).resolves.toBe(1);
      });
      expect(events).toEqual([
        ['track', 'jid'],
        ['untrack', 'jid'],
      ]);
      await expect(qless.job('jid')).resolves.toMatchObject({ tags: ['a', 'b'] });
      await expect(qless.legacy('track', [])).resolves.toBe('{"jobs":{},"expired":{}}');
    });
  });
});
