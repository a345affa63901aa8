import { describe, expect, it } from '@jest/globals';
import { legacyRefuses, refuses, useQless } from '../qless-rig.js';

const STATES = ['running', 'stalled', 'scheduled', 'depends', 'recurring', 'waiting'];

describe('jobs', () => {
  const qless = useQless();

  refuses(qless, [
    [['jobs', 0], 'Jobs(): Arg "state" missing'],
    [['jobs', 0, 'complete', 'x'], 'Jobs(): Arg "offset" not a number: x'],
    [['jobs', 0, 'complete', 0, 'x'], 'Jobs(): Arg "count" not a number: x'],
    [['jobs', 0, 'lost', 'q'], 'Jobs(): Unknown type "lost"'],
    ...STATES.flatMap((state): [string[], string][] => [
      [['jobs', '0', state], 'Jobs(): Arg "queue" missing'],
      [['jobs', '0', state, 'q', 'x'], 'Jobs(): Arg "offset" not a number: x'],
      [['jobs', '0', state, 'q', '0', 'x'], 'Jobs(): Arg "count" not a number: x'],
    ]),
  ]);

  it('lists jids by state, page by page', async () => {
    const jids = Array.from({ length: 30 }, (_, i) => `j${String(i).padStart(2, '0')}`);
    for (const [i, jid] of jids.entries()) await qless.q('put', i, 'p', 'q', jid, 'k', '{}', 0);
    await expect(qless.q('jobs', 0, 'waiting', 'q')).resolves.toEqual(jids.slice(0, 25));
    await expect(qless.q('jobs', 0, 'waiting', 'q', 25, 25)).resolves.toEqual(jids.slice(25));
    await expect(qless.q('jobs', 0, 'waiting', 'q', 0, 0)).resolves.toEqual(jids);
    for (const [i, jid] of jids.entries()) {
      await qless.pop(i, 1);
      await qless.q('complete', i, jid, 'w', 'q', '{}');
    }
    await expect(qless.q('jobs', 0, 'complete')).resolves.toEqual([...jids].reverse().slice(0, 25));
    await expect(qless.q('jobs', 0, 'complete', 28)).resolves.toEqual(['j01', 'j00']);
  });

  it('has a lock that expires now in running and in stalled', async () => {
    await qless.put('jid');
    await qless.pop(0);
    for (const [now, running, stalled] of [
      [59, ['jid'], []],
      [60, ['jid'], ['jid']],
      [61, [], ['jid']],
    ] as const) {
      await expect(qless.q('jobs', now, 'running', 'q')).resolves.toEqual(running);
      await expect(qless.q('jobs', now, 'stalled', 'q')).resolves.toEqual(stalled);
    }
  });

  it('lists scheduled, depending and recurring jobs', async () => {
    await qless.q('put', 0, 'p', 'q', 'later', 'k', '{}', 20);
    await qless.q('put', 0, 'p', 'q', 'soon', 'k', '{}', 10);
    await qless.q('put', 0, 'p', 'q', 'after', 'k', '{}', 0, 'depends', '["soon"]');
    await qless.q('recur', 0, 'q', 'r', 'k', '{}', 'interval', 60, 1000);
    await expect(qless.q('jobs', 0, 'scheduled', 'q')).resolves.toEqual(['soon', 'later']);
    await expect(qless.q('jobs', 10, 'scheduled', 'q')).resolves.toEqual(['later']);
    await expect(qless.q('jobs', 0, 'depends', 'q')).resolves.toEqual(['after']);
    await expect(qless.q('jobs', 0, 'recurring', 'q')).resolves.toEqual(['r']);
  });

  it('sends scheduled jobs that are due to work, as queues does', async () => {
    await qless.q('put', 0, 'p', 'q', 'due', 'k', '{}', 10);
    await expect(qless.q('jobs', 10, 'scheduled', 'q')).resolves.toEqual([]);
    await expect(qless.q('jobs', 10, 'waiting', 'q')).resolves.toEqual(['due']);
    await expect(qless.job('due')).resolves.toMatchObject({ state: 'waiting' });
  });

  describe('in the form of the first generation', () => {
    legacyRefuses(qless, 'jobs', [
      [['q'], [], 'Jobs(): Got 1, expected 0 KEYS'],
      [[], ['running', 'x', 'q'], 'Jobs(): Arg "now" missing or not a number: x'],
      [[], ['running', 0], 'Jobs(): Arg "queue" missing'],
    ]);

    it('has the time before the queue', async () => {
      await qless.put('jid');
      await qless.pop(0);
      await expect(qless.legacy('jobs', [], 'running', 0, 'q')).resolves.toEqual(['jid']);
      await expect(qless.legacy('jobs', [], 'stalled', 0, 'q')).resolves.toEqual([]);
      await expect(qless.legacy('jobs', [], 'complete')).resolves.toEqual([]);
    });
  });
});

describe('queues', () => {
  const qless = useQless();
  const EMPTY = {
    name: 'q',
    waiting: 0,
    stalled: 0,
    running: 0,
    scheduled: 0,
    depends: 0,
    recurring: 0,
    paused: false,
  };

  refuses(qless, [
    [['queues'], 'Arg "now" missing'],
    [['queues', 'x'], 'Arg "now" missing or not a number: x'],
  ]);

  it('counts one queue, or all of them in the order in which they were seen', async () => {
    await expect(qless.q('queues', 0)).resolves.toBe('{}');
    await expect(qless.json('queues', 0, 'q')).resolves.toEqual(EMPTY);
    for (const jid of ['a', 'b', 'c']) await qless.put(jid);
    await qless.pop(0, 1);
    await qless.pop(30, 1);
    await qless.put('d', 'depends', '["a"]');
    await qless.q('put', 0, 'p', 'q', 'e', 'k', '{}', 100);
    await qless.q('recur', 0, 'q', 'r', 'k', '{}', 'interval', 60, 1000);
    await qless.q('put', 1, 'p', 'n', 'f', 'k', '{}', 0);
    await qless.q('pause', 1, 'q');
    const counts = {
      ...EMPTY,
      waiting: 1,
      stalled: 1,
      running: 1,
      scheduled: 1,
      depends: 1,
      recurring: 1,
      paused: true,
    };
    await expect(qless.json('queues', 60, 'q')).resolves.toEqual(counts);
    await expect(qless.json('queues', 60)).resolves.toEqual([counts, { ...EMPTY, name: 'n', waiting: 1 }]);
    await expect(qless.q('length', 60, 'q')).resolves.toBe(4);
  });

  it('moves scheduled jobs that are due', async () => {
    await qless.q('put', 0, 'p', 'q', 'a', 'k', '{}', 10);
    await expect(qless.json('queues', 10, 'q')).resolves.toEqual({ ...EMPTY, waiting: 1 });
    await expect(qless.job('a')).resolves.toMatchObject({ state: 'waiting' });
  });

  describe('in the form of the first generation', () => {
    legacyRefuses(qless, 'queues', [
      [['q'], [0], 'Queues(): Got 1, expected 0 KEYS'],
      [[], [], 'Queues(): Arg "now" missing or not a number'],
    ]);

    it('gives the same', async () => {
      await qless.put('jid');
      await expect(qless.legacy('queues', [], 0, 'q')).resolves.toBe(await qless.q('queues', 0, 'q'));
      await expect(qless.legacy('queues', [], 0)).resolves.toBe(await qless.q('queues', 0));
    });
  });
});

describe('queue.forget, pause and unpause', () => {
  const qless = useQless();

  refuses(qless, [
    [['queue.forget', 0], 'Forget(): Arg "queue" missing'],
    [['pause', 0], 'Pause(): Arg "queue" missing'],
    [['unpause', 0], 'Unpause(): Arg "queue" missing'],
  ]);

  it('forget queues, and keep their jobs', async () => {
    await qless.put('jid');
    await expect(qless.q('queue.forget', 0, 'q', 'unknown')).resolves.toBeNull();
    await expect(qless.q('queues', 0)).resolves.toBe('{}');
    await expect(qless.pop(0)).resolves.toEqual(['jid']);
  });

  it('stop queues and let them go on', async () => {
    await qless.put('jid');
    await expect(qless.q('pause', 0, 'q', 'r')).resolves.toBeNull();
    await expect(qless.redis.smembers('ql:paused_queues').then((names) => names.sort())).resolves.toEqual([
      'q',
      'r',
    ]);
    await expect(qless.pop(0)).resolves.toEqual([]);
    await expect(qless.q('unpause', 0, 'q', 'r')).resolves.toBeNull();
    await expect(qless.redis.exists('ql:paused_queues')).resolves.toBe(0);
    await expect(qless.pop(0)).resolves.toEqual(['jid']);
  });
});

describe('length', () => {
  const qless = useQless();

  refuses(qless, [[['length', 0], 'Length(): Arg "queue" missing']]);

  it('is 0 for an unknown queue', async () => {
    await expect(qless.q('length', 0, 'q')).resolves.toBe(0);
  });
});
