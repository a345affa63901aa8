import { describe, expect, it } from '@jest/globals';
import { legacyRefuses, refuses, useQless } from '../qless-rig.js';

describe('cancel', () => {
  const qless = useQless();
  const refusal = 'Cancel(): a is a dependency of b but is not mentioned to be canceled';

  refuses(qless, [
    [['cancel'], 'Arg "now" missing'],
    [['cancel', 'x', 'there'], 'Arg "now" missing or not a number: x'],
  ]);

  it('ignores jids without a job', async () => {
    const events = await qless.events(async () => {
      await expect(qless.q('cancel', 0, 'gone', 'gone')).resolves.toEqual(['gone', 'gone']);
      await expect(qless.q('cancel', 0)).resolves.toEqual([]);
    });
    expect(events).toEqual([]);
  });

  it('refuses all of them if a dependent of one is not named', async () => {
    await qless.put('a');
    await qless.put('b', 'depends', '["a"]');
    await expect(qless.q('cancel', 0, 'a')).rejects.toThrow(refusal);
    await expect(qless.q('cancel', 0, 'b', 'a')).resolves.toEqual(['b', 'a']);
    expect((await qless.redis.keys('*')).sort()).toEqual(['ql:queues']);
  });

  it.each(['waiting', 'scheduled', 'depends', 'running', 'stalled', 'failed'])(
    'removes every trace of a job that is %s',
    async (state) => {
      await qless.put('other');
      const before = (await qless.redis.keys('*')).sort();
      const depends = state === 'depends' ? ['depends', '["other"]'] : [];
      const delay = state === 'scheduled' ? 10 : 0;
      await qless.q(
        'put',
        0,
        'p',
        'q',
        'jid',
        'k',
        '{}',
        delay,
        'priority',
        9,
        'tags',
        '["a","b"]',
        ...depends,
      );
      if (['running', 'stalled', 'failed'].includes(state)) await qless.pop(0, 1);
      if (state === 'stalled') await qless.q('timeout', 0, 'jid');
      if (state === 'failed') await qless.q('fail', 0, 'jid', 'w', 'g', 'm');
      await expect(qless.job('jid')).resolves.toMatchObject({ state });

      const text = `{"jid":"jid","queue":"q","event":"canceled","worker":"${state === 'running' ? 'w' : ''}"}`;
      await expect(qless.events(() => qless.q('cancel', 1, 'jid'))).resolves.toEqual([
        ['ql:log', text],
        ...(state === 'running' ? [['ql:w:w', text]] : []),
      ]);
      const left = (await qless.redis.keys('*')).filter((key) => !/^ql:(s:|workers)/.test(key)).sort();
      expect(left).toEqual(before);
      await expect(qless.json('stats', 0, 'q', 0)).resolves.toMatchObject({ failed: 0 });
      await expect(qless.json('consistency.check', 0)).resolves.toMatchObject({ problems: {} });
    },
  );

  it('keeps complete jobs and the list of tracked ones', async () => {
    await qless.put('a');
    await qless.pop(0);
    await qless.q('complete', 0, 'a', 'w', 'q', '{}');
    await qless.put('b');
    await qless.q('track', 0, 'track', 'b');
    const events = await qless.events(() => qless.q('cancel', 0, 'a', 'b'));
    expect(events).toEqual([
      ['ql:log', '{"jid":"b","queue":"q","event":"canceled","worker":""}'],
      ['ql:canceled', 'b'],
    ]);
    await expect(qless.job('a')).resolves.toMatchObject({ state: 'complete' });
    await expect(qless.json('track', 0)).resolves.toEqual({ jobs: {}, expired: ['b'] });
  });

  describe('in the form of the first generation', () => {
    legacyRefuses(qless, 'cancel', [
      [['q'], [], 'Cancel(): Got 1, expected 0 KEYS'],
      [[], [], 'Cancel(): Arg "jid" missing'],
    ]);

    it('gives nil, and refuses a job that others depend on', async () => {
      await qless.put('a');
      await qless.put('b', 'depends', '["a"]');
      await expect(qless.legacy('cancel', [], 'a')).rejects.toThrow(refusal);
      await expect(qless.legacy('cancel', [], 'b')).resolves.toBeNull();
      await expect(qless.legacy('cancel', [], 'b')).resolves.toBeNull();
      await expect(qless.q('get', 0, 'b')).resolves.toBeNull();
    });
  });
});
