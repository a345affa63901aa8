import { describe, expect, it } from '@jest/globals';
import { legacyRefuses, refuses, useQless } from '../qless-rig.js';

describe('workers', () => {
  const qless = useQless();

  refuses(qless, [
    [['workers'], 'Arg "now" missing'],
    [['workers', 'x'], 'Arg "now" missing or not a number: x'],
    [['worker.deregister', 0], 'Deregister(): Arg "worker" missing'],
  ]);

  it('lists the most recently seen first, with their jobs and stalled jobs', async () => {
    await expect(qless.q('workers', 0)).resolves.toBe('{}');
    await qless.put('a');
    await qless.pop(0, 1, 'early');
    await qless.put('b');
    await qless.pop(30, 1, 'late');
    await expect(qless.json('workers', 70)).resolves.toEqual([
      { name: 'late', jobs: 1, stalled: 0 },
      { name: 'early', jobs: 0, stalled: 1 },
    ]);
    await expect(qless.json('workers', 70, 'early')).resolves.toEqual({ jobs: {}, stalled: ['a'] });
    await expect(qless.json('workers', 70, 'late')).resolves.toEqual({ jobs: ['b'], stalled: {} });
    await expect(qless.json('workers', 70, 'nobody')).resolves.toEqual({ jobs: {}, stalled: {} });
  });

  it('forgets those that were not seen for max-worker-age', async () => {
    await qless.put('a');
    await qless.pop(0, 1, 'old');
    await qless.pop(50_000, 1, 'new');
    await expect(qless.json('workers', 86_400)).resolves.toMatchObject([{ name: 'new' }]);
    await expect(qless.redis.exists('ql:w:old:jobs')).resolves.toBe(0);
    await qless.q('config.set', 0, 'max-worker-age', 10);
    await expect(qless.json('workers', 86_400)).resolves.toEqual({});
  });

  it('are deregistered, and keep their jobs', async () => {
    await qless.put('a');
    await qless.pop(0);
    await expect(qless.q('worker.deregister', 0, 'w', 'nobody')).resolves.toBeNull();
    await expect(qless.q('workers', 0)).resolves.toBe('{}');
    await expect(qless.q('complete', 0, 'a', 'w', 'q', '{}')).resolves.toBe('complete');
  });

  describe('in the form of the first generation', () => {
    legacyRefuses(qless, 'workers', [
      [['q'], [0], 'Workers(): Got 1, expected 0 KEYS'],
      [[], [], 'Workers(): Arg "now" missing or not a number'],
    ]);

    it('gives the same', async () => {
      await qless.put('jid');
      await qless.pop(0);
      await expect(qless.legacy('workers', [], 0)).resolves.toBe(await qless.q('workers', 0));
      await expect(qless.legacy('workers', [], 0, 'w')).resolves.toBe(await qless.q('workers', 0, 'w'));
    });
  });
});

describe('config', () => {
  const qless = useQless();
  const DEFAULTS = {
    application: 'qless',
    heartbeat: 60,
    'grace-period': 10,
    'stats-history': 30,
    'histogram-history': 7,
    'jobs-history-count': 50_000,
    'jobs-history': 604_800,
  };

  refuses(qless, [
    [['config.get'], 'Arg "now" missing'],
    [['config.set', 0], 'config.set(): Arg "option" missing'],
    [['config.set', 0, 'a'], 'config.set(): Arg "value" missing'],
    [['config.unset', 0], 'config.unset(): Arg "option" missing'],
  ]);

  it('has exactly these defaults', async () => {
    await expect(qless.json('config.get', 0)).resolves.toEqual(DEFAULTS);
    await expect(qless.q('config.get', 0, 'heartbeat')).resolves.toBe(60);
    await expect(qless.q('config.get', 0, 'unknown')).resolves.toBeNull();
  });

  it('is set, read as a string, and unset; each change is published', async () => {
    const events = await qless.events(async () => {
      await expect(qless.q('config.set', 0, 'heartbeat', 5)).resolves.toBeNull();
      await expect(qless.q('config.get', 0, 'heartbeat')).resolves.toBe('5');
      await expect(qless.json('config.get', 0)).resolves.toEqual({ ...DEFAULTS, heartbeat: '5' });
      await expect(qless.q('config.unset', 0, 'heartbeat')).resolves.toBeNull();
      await expect(qless.q('config.get', 0, 'heartbeat')).resolves.toBe(60);
    });
    expect(events).toEqual([
      ['ql:log', '{"option":"heartbeat","event":"config_set","value":"5"}'],
      ['ql:log', '{"event":"config_unset","option":"heartbeat"}'],
    ]);
  });

  describe('in the forms of the first generation', () => {
    legacyRefuses(qless, 'config', [
      [['q'], [], 'Config(): Got 1, expected 0 KEYS'],
      [[], [], 'Config(): Unrecognized command nil'],
      [[], ['set', 'a'], 'config.set(): Arg "value" missing'],
    ]);
    legacyRefuses(qless, 'setconfig', [[[], [], 'config.unset(): Arg "option" missing']]);
    legacyRefuses(qless, 'getconfig', [[['q'], [], 'GetConfig(): Got 1, expected 0 KEYS']]);

    it('is set, read and unset, and publishes nothing', async () => {
      const events = await qless.events(async () => {
        await qless.legacy('setconfig', [], 'a', 1);
        await expect(qless.legacy('getconfig', [], 'a')).resolves.toBe('1');
        await qless.legacy('setconfig', [], 'a');
        await expect(qless.legacy('getconfig', [], 'a')).resolves.toBeNull();
        await qless.legacy('config', [], 'set', 'a', 2);
        await expect(qless.legacy('config', [], 'get', 'a')).resolves.toBe('2');
        await qless.legacy('config', [], 'unset', 'a');
        expect(JSON.parse(String(await qless.legacy('config', [], 'get')))).toEqual(DEFAULTS);
        expect(JSON.parse(String(await qless.legacy('getconfig', [])))).toEqual(DEFAULTS);
      });
      expect(events).toEqual([]);
    });
  });
});
