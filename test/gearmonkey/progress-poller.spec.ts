import { afterEach, describe, expect, it, jest } from '@jest/globals';
import type { ReadProgress } from '../../lib/gearmonkey/core/client/job-store.js';
import type { GearMonkeyStore } from '../../lib/gearmonkey/features/index.js';
import { ProgressPoller } from '../../lib/gearmonkey/core/client/progress-poller.js';

const ROUND_MS = 500;

/** What jobs' hashes say, and which of them were read. */
class Hashes {
  readonly stored = new Map<string, ReadProgress>();
  reads: string[][] = [];

  readonly store = {
    readProgress: async (_fn: string, ids: readonly string[]) => {
      this.reads.push([...ids]);
      return ids.map((id) => this.stored.get(id) ?? { isOver: true });
    },
  } as unknown as GearMonkeyStore;

  say(id: string, dividend: number, isOver = false): void {
    this.stored.set(id, { progress: { dividend, divisor: 10 }, isOver });
  }
}

describe('ProgressPoller', () => {
  afterEach(() => {
    jest.useRealTimers();
  });

  function open() {
    jest.useFakeTimers();
    const hashes = new Hashes();
    const delivered: string[] = [];
    const poller = new ProgressPoller(hashes.store, 'fn', ({ id, dividend }) =>
      delivered.push(`${id}: ${dividend}`),
    );
    const round = async () => {
      hashes.reads = [];
      await jest.advanceTimersByTimeAsync(ROUND_MS);
      return hashes.reads.flat();
    };
    return { hashes, delivered, poller, round };
  }

  it('stops reading a finished job whose message was missed', async () => {
    const { hashes, delivered, poller, round } = open();
    poller.watchAll({});
    for (const id of ['ends', 'gone', 'goes on']) poller.started(id);
    hashes.say('ends', 9, true);
    hashes.say('goes on', 3);
    expect(await round()).toEqual(['ends', 'gone', 'goes on']);
    expect(await round()).toEqual(['goes on']);
    expect(delivered).toEqual(['ends: 9', 'goes on: 3']);
    poller.stop();
  });

  it('reads jobs whose worker publishes again after missed messages', async () => {
    const { hashes, poller, round } = open();
    poller.watchAll({});
    poller.started('1');
    poller.published('1');
    expect(await round()).toEqual([]);
    poller.resync();
    expect(await round()).toEqual(['1']);
    expect(await round()).toEqual([]);
    expect(hashes.stored.size).toBe(0);
    poller.stop();
  });

  it('has room for started jobs even if many never end', async () => {
    const { hashes, delivered, poller, round } = open();
    poller.watchAll({});
    for (let i = 0; i < 10_000; i++) poller.started(`${i}`);
    poller.started('last');
    for (let i = 0; i < 10_000; i++) hashes.say(`${i}`, 0);
    hashes.say('last', 5);
    for (let rounds = 0; rounds < 51 && !delivered.includes('last: 5'); rounds++) await round();
    expect(delivered).toContain('last: 5');
    expect(delivered).not.toContain('0: 0');
    poller.stop();
  });

  it('forgets all jobs with the last observer, and starts anew with the next', async () => {
    const { hashes, delivered, poller, round } = open();
    const observer = {};
    poller.watchAll(observer);
    poller.started('1');
    hashes.say('1', 3);
    await round();
    poller.unwatchAll(observer);
    expect(await round()).toEqual([]);
    poller.watchAll(observer);
    poller.started('1');
    await round();
    expect(delivered).toEqual(['1: 3', '1: 3']);
    poller.stop();
  });
});
