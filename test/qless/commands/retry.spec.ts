import { describe, expect, it } from '@jest/globals';
import { legacyRefuses, refuses, useQless } from '../qless-rig.js';

describe('retry', () => {
  const qless = useQless();

  refuses(qless, [
    [['retry', 0], 'Retry(): Arg "jid" missing'],
    [['retry', 0, 'there'], 'Retry(): Arg "queue" missing'],
    [['retry', 0, 'there', 'q'], 'Retry(): Arg "worker" missing'],
    [['retry', 0, 'there', 'q', 'w', 'x'], 'Retry(): Arg "delay" not a number: x'],
    [['retry', 0, 'gone', 'q', 'w'], 'Retry(): Job gone does not exist'],
  ]);

  it('refuses jobs that are not running, or with another worker', async () => {
    await qless.put('jid');
    await expect(qless.q('retry', 0, 'jid', 'q', 'w')).rejects.toThrow(
      'Retry(): Job jid is not currently running: waiting',
    );
    await qless.pop(0);
    await expect(qless.q('retry', 0, 'jid', 'q', 'x')).rejects.toThrow(
      'Retry(): Job jid has been given to another worker: w',
    );
  });

  it.each([
    ['waiting', []],
    ['scheduled', [5]],
  ])('gives the job back, %s: %j', async (state, delay) => {
    await qless.put('jid');
    await qless.pop(0);
    const events = await qless.events(async () => {
      await expect(qless.q('retry', 1, 'jid', 'q', 'w', ...delay)).resolves.toBe(4);
    });
    expect(events).toEqual([]);
    await expect(qless.job('jid')).resolves.toMatchObject({ state, remaining: 4, failure: {} });
    await expect(qless.redis.exists('ql:q:q-locks', 'ql:w:w:jobs')).resolves.toBe(0);
    await expect(qless.pop(6)).resolves.toEqual(['jid']);
  });

  it('gives the job back for its last retry', async () => {
    await qless.put('jid', 'retries', 1);
    await qless.pop(0);
    await expect(qless.q('retry', 1, 'jid', 'q', 'w')).resolves.toBe(0);
    await expect(qless.pop(2)).resolves.toEqual(['jid']);
  });

  it('keeps the reason, if given', async () => {
    await qless.put('jid');
    await qless.pop(0);
    await qless.q('retry', 1.5, 'jid', 'q', 'w', 0, 'g', 'm');
    await expect(qless.job('jid')).resolves.toMatchObject({
      failure: { group: 'g', message: 'm', when: 1, worker: 'w' },
    });
    await expect(qless.json('failed', 0)).resolves.toEqual({});
  });

  it.each([
    [[], { group: 'failed-retries-q', message: 'Job exhausted retries in queue "q"', when: 1.5, worker: '' }],
    [[0, 'g', 'm'], { group: 'g', message: 'm', when: 1, worker: 'w' }],
  ])(
    'fails the job when no retry is left, and publishes that if it is tracked: %j',
    async (rest, failure) => {
      const { group } = failure;
      await qless.put('jid', 'retries', 0);
      await qless.q('track', 0, 'track', 'jid');
      await qless.pop(0);
      const events = await qless.events(async () => {
        await expect(qless.q('retry', 1.5, 'jid', 'q', 'w', ...rest)).resolves.toBe(-1);
      });
      expect(events).toEqual([['ql:failed', 'jid']]);
      await expect(qless.job('jid')).resolves.toMatchObject({
        state: 'failed',
        worker: '',
        failure,
        history: [{}, {}, { what: 'failed', group, when: 1 }],
      });
      await expect(qless.json('failed', 0)).resolves.toEqual({ [group]: 1 });
      await expect(qless.json('stats', 0, 'q', 0)).resolves.toMatchObject({ failed: 1, failures: 1 });
    },
  );

  describe('in the form of the first generation', () => {
    legacyRefuses(qless, 'retry', [
      [['q'], [], 'Retry(): Got 1, expected 0 KEYS'],
      [[], ['there', 'q', 'w'], 'Retry(): Arg "now" missing or not a number'],
      [[], ['there', 'q', 'w', 0, 'x'], 'Retry(): Arg "delay" not a number: x'],
    ]);

    it('returns nil for jobs of other workers, and the remaining retries otherwise', async () => {
      await qless.put('jid');
      await expect(qless.legacy('retry', [], 'jid', 'q', 'w', 0)).resolves.toBeNull();
      await qless.pop(0);
      await expect(qless.legacy('retry', [], 'jid', 'q', 'x', 0)).resolves.toBeNull();
      await expect(qless.legacy('retry', [], 'jid', 'q', 'w', 0, 10)).resolves.toBe(4);
      await expect(qless.job('jid')).resolves.toMatchObject({ state: 'scheduled' });
    });
  });
});

describe('heartbeat', () => {
  const qless = useQless();

  refuses(qless, [
    [['heartbeat', 0], 'Heartbeat(): Arg "jid" missing'],
    [['heartbeat', 0, 'there'], 'Heartbeat(): Arg "worker" missing'],
    [['heartbeat', 0, 'there', 'w', '{]'], 'Heartbeat(): Arg "data" not JSON: {]'],
    [['heartbeat', 0, 'gone', 'w'], 'Heartbeat(): Job gone does not exist'],
  ]);

  it('refuses jobs that are not running, or with another worker', async () => {
    await qless.put('jid');
    await expect(qless.q('heartbeat', 0, 'jid', '')).rejects.toThrow(
      'Heartbeat(): Job jid not currently running: waiting',
    );
    await qless.pop(0);
    await expect(qless.q('heartbeat', 0, 'jid', 'x')).rejects.toThrow(
      'Heartbeat(): Job jid given out to another worker: w',
    );
  });

  it('extends the lock everywhere, cut to an integer, and sees the worker', async () => {
    await qless.put('jid');
    await qless.pop(0);
    await expect(qless.q('heartbeat', 10.7, 'jid', 'w')).resolves.toBe(70);
    await expect(qless.job('jid')).resolves.toMatchObject({ expires: 70.7, data: '{}' });
    await expect(qless.redis.zscore('ql:q:q-locks', 'jid').then(Number)).resolves.toBe(70.7);
    await expect(qless.redis.zscore('ql:w:w:jobs', 'jid').then(Number)).resolves.toBe(70.7);
    await expect(qless.redis.zscore('ql:workers', 'w').then(Number)).resolves.toBe(10.7);
  });

  it('takes data, and the heartbeat of the queue', async () => {
    await qless.q('config.set', 0, 'q-heartbeat', 5);
    await qless.put('jid');
    await qless.pop(0);
    await expect(qless.q('heartbeat', 1, 'jid', 'w', '{"a":1}')).resolves.toBe(6);
    await expect(qless.job('jid')).resolves.toMatchObject({ data: '{"a":1}' });
  });

  describe('in the form of the first generation', () => {
    legacyRefuses(qless, 'heartbeat', [
      [['q'], [], 'Heartbeat(): Got 1, expected 0 KEYS'],
      [[], ['there', 'w'], 'Heartbeat(): Arg "now" missing or not a number'],
      [[], ['there', 'w', 0, '{]'], 'Heartbeat(): Arg "data" not JSON: {]'],
    ]);

    it('gives nil for jobs that the worker has not, and the expiry for the others', async () => {
      await qless.put('jid');
      await expect(qless.legacy('heartbeat', [], 'jid', 'w', 0)).resolves.toBeNull();
      await qless.pop(0);
      await expect(qless.legacy('heartbeat', [], 'jid', 'x', 0)).resolves.toBeNull();
      await expect(qless.legacy('heartbeat', [], 'jid', 'w', 5, '{"a":1}')).resolves.toBe(65);
      await expect(qless.job('jid')).resolves.toMatchObject({ data: '{"a":1}' });
    });
  });
});

describe('timeout', () => {
  const qless = useQless();

  refuses(qless, [
    [['timeout', 0], 'Timeout(): Arg "jid" missing'],
    [['timeout', 0, 'gone'], 'Timeout(): Job gone does not exist'],
    [['timeout', 0, 'there', 'gone'], 'Timeout(): Job'],
    [['timeout', 0, 'there', 'there'], 'Timeout(): Job'],
  ]);

  it('takes running jobs from their workers, and publishes that', async () => {
    await qless.put('first', 'priority', 100);
    await qless.put('jid');
    await qless.pop(0);
    await qless.put('other', 'priority', 100);
    const lost = '{"jid":"jid","event":"lock_lost","worker":"w"}';
    const events = await qless.events(async () => expect(await qless.q('timeout', 5, 'jid')).toBeNull());
    expect(events).toEqual([
      ['ql:w:w', lost],
      ['ql:log', lost],
    ]);
    await expect(qless.job('jid')).resolves.toMatchObject({
      state: 'stalled',
      expires: 0,
      remaining: 5,
      history: [{}, {}, { what: 'timed-out', when: 5 }],
    });
    await expect(qless.redis.zscore('ql:q:q-work', 'jid')).resolves.toBe('inf');
    await expect(qless.redis.zscore('ql:q:q-locks', 'jid')).resolves.toBeNull();
    await expect(qless.pop(6, 1)).resolves.toEqual(['jid']);
  });
});
