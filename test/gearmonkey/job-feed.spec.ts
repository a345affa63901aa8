import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { JobFeed, type JobFollower } from '../../lib/gearmonkey/core/client/job-feed.js';
import { JobFeeds } from '../../lib/gearmonkey/core/client/job-feeds.js';
import type { JobListener } from '../../lib/gearmonkey/core/client/job-store.js';
import { EmbeddedStore } from '../embedded/embedded-store.js';

/** How long an unused feed stays open. */
const LINGER_MS = 500;

/** A store that publishes nothing by itself: a test calls its listeners. */
class SilentStore extends EmbeddedStore {
  readonly listeners = new Set<JobListener>();

  override async listen(_fn: string, listener: JobListener): Promise<() => void> {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}

/** A follower, and what it was called for. */
function follower(): { calls: string[] } & JobFollower {
  const calls: string[] = [];
  return {
    calls,
    finished: () => calls.push('finished'),
    resync: () => calls.push('resync'),
    fail: ({ message }) => calls.push(message),
  };
}

describe('JobFeed', () => {
  let store: SilentStore;
  let feed: JobFeed;
  let unused: number;

  beforeEach(() => {
    jest.useFakeTimers();
    store = new SilentStore();
    unused = 0;
    feed = new JobFeed(store, 'fn', () => (unused += 1));
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it('lets jobs be read again that have been followed for a minute, since messages may be lost without a word', async () => {
    await feed.open();
    const one = follower();
    feed.follow('1', one);
    await jest.advanceTimersByTimeAsync(60_000);
    const other = follower();
    feed.follow('2', other);
    expect([one.calls, other.calls]).toEqual([[], []]);
    await jest.advanceTimersByTimeAsync(60_000);
    expect([one.calls, other.calls]).toEqual([['resync'], []]);
    feed.close();
    expect(jest.getTimerCount()).toBe(0);
  });

  it('keeps its subscription for a while after its last use, and for a use that begins meanwhile', async () => {
    await feed.open();
    feed.release();
    await jest.advanceTimersByTimeAsync(LINGER_MS - 1);
    await feed.open();
    await jest.advanceTimersByTimeAsync(10 * LINGER_MS);
    expect([store.listeners.size, unused]).toEqual([1, 0]);
    feed.release();
    await jest.advanceTimersByTimeAsync(LINGER_MS);
    expect([store.listeners.size, unused]).toEqual([0, 1]);
  });

  it('calls the followers of a job, and forgets it with the last of them', async () => {
    const [one, other, another] = [follower(), follower(), follower()];
    const leave = [feed.follow('1', one), feed.follow('1', other), feed.follow('2', another)];
    await feed.open();
    for (const listener of store.listeners) listener.event({ type: 'finish', fn: 'fn', id: '1' });
    expect([one.calls, other.calls, another.calls]).toEqual([['finished'], ['finished'], []]);
    for (const end of leave) end();
    expect(feed['followers'].size).toBe(0);
    feed.release();
  });

  it('has all followers look again when messages may have been missed', async () => {
    const [one, other] = [follower(), follower()];
    feed.follow('1', one);
    feed.follow('2', other);
    await feed.open();
    for (const listener of store.listeners) listener.resync();
    expect([one.calls, other.calls]).toEqual([['resync'], ['resync']]);
    feed.release();
  });

  it('fails its followers when it is closed, and those that come later', async () => {
    const [before, after] = [follower(), follower()];
    feed.follow('1', before);
    await feed.open();
    feed.close();
    feed.follow('1', after);
    const closed = [expect.stringContaining('closed')];
    expect([before.calls, after.calls]).toEqual([closed, closed]);
    await jest.advanceTimersByTimeAsync(0);
    expect(store.listeners.size).toBe(0);
  });
});

describe('JobFeeds', () => {
  it('have no feed for observers once these are ended, and call who asked for that', () => {
    const feeds = new JobFeeds(new SilentStore());
    expect(feeds.forObserver('fn')).toBe(feeds.of('fn'));
    const ended: string[] = [];
    feeds.onEnd(() => ended.push('before'));
    feeds.onEnd(() => ended.push('taken back'))();
    feeds.endObservers();
    feeds.onEnd(() => ended.push('after'));
    expect(ended).toEqual(['before', 'after']);
    expect(feeds.forObserver('fn')).toBeUndefined();
    expect(feeds.of('fn')).toBeInstanceOf(JobFeed);
  });

  it('reject calls after they were closed, and have no feed for observers', () => {
    const feeds = new JobFeeds(new SilentStore());
    let ended = 0;
    feeds.onEnd(() => (ended += 1));
    feeds.close();
    expect(ended).toBe(1);
    expect(feeds.forObserver('fn')).toBeUndefined();
    expect(() => feeds.of('fn')).toThrow(expect.objectContaining({ code: 'CONNECTION' }));
  });
});
