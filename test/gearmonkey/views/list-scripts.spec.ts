import { beforeEach, describe, expect, it } from '@jest/globals';
import { keysOf } from '../../../lib/gearmonkey/core/wire/protocol.js';
import * as views from '../../../lib/gearmonkey/features/views/view-scripts.js';
import { useRedisServer } from '../../support/use-redis.js';
import { claim, enqueue, enqueueLimited, NOW, unique } from '../scripts/scripts.js';

const KEPT_MS = 90_000_000;
const MOST_PAGES = 20;
const server = useRedisServer();
const redis = () => server.redis;
let fn = '';
beforeEach(() => void (fn = server.fn()));

interface Asked {
  order?: 'newest' | 'oldest';
  size?: number;
  page?: string;
  payloads?: 0 | 1;
  now?: number;
}

function list(
  kind: views.ListKind | 'success' | 'failed' | 'cancelled',
  { order = 'oldest', size = 10, page = '', payloads = 0, now = NOW }: Asked = {},
  viewer = redis(),
) {
  const k = keysOf(fn);
  const has = { success: 'success', failed: 'error', cancelled: 'error' } as Record<string, string>;
  const status = has[kind] ?? '';
  const ended = k.ended + (status === '' ? 'failed' : kind);
  const keys = [k.jobs, k.control, k.leases, k.scheduled, k.high, k.normal, k.low, k.retrying, ended];
  const state = status === '' ? (kind as views.ListKind) : 'ended';
  return views.listJobs.run(viewer, keys, now, KEPT_MS, state, order, size, page, payloads, status);
}

function find(
  by: views.FoundBy,
  text: string,
  { order = 'oldest', size = 10, page = '', payloads = 0, now = NOW }: Asked = {},
) {
  const k = keysOf(fn);
  const keys = [k.jobs, k.control, k.scheduled, k.retrying, `${k.ended}cancelled`, k.tags, k.unique];
  return views.findJobs.run(redis(), keys, now, by, text, order, size, page, payloads);
}

/** By names. */
async function overview(now = NOW) {
  const k = keysOf(fn);
  const ended = ['success', 'failed', 'cancelled'].map((state) => k.ended + state);
  const keys = [k.jobs, k.control, k.leases, k.scheduled, k.high, k.normal, k.low, k.retrying, ...ended];
  const texts = await views.overview.run(redis(), [...keys, k.count, k.workers], now, KEPT_MS);
  const names = [
    'high',
    'normal',
    'low',
    'scheduled',
    'retrying',
    'running',
    'success',
    'failed',
    'cancelled',
  ];
  return Object.fromEntries(
    [...names, 'full', 'paused', 'oldest', 'workers'].map((name, i) => [name, texts[i]]),
  );
}

const ids = async (page: ReturnType<typeof list>) => (await page).jobs.map(({ id }) => id);
const field = async (page: ReturnType<typeof list>, name: string) =>
  (await page).jobs.map(({ stored }) => (stored.has(name) ? String(stored.get(name)) : undefined));

/** All ids, page by page. */
async function paged(read: (page: string) => ReturnType<typeof list>): Promise<string[]> {
  const found: string[] = [];
  let page = '';
  for (let pages = 0; pages < MOST_PAGES; pages++) {
    const { next, jobs } = await read(page);
    found.push(...jobs.map(({ id }) => id));
    if (next === '') break;
    page = next;
  }
  return found;
}

describe('list-jobs.lua', () => {
  it.each(['oldest', 'newest'] as const)(
    'reads waiting jobs of all lists in pages, the %s first',
    async (order) => {
      for (const queue of ['low', 'normal', 'high', 'low', 'high'] as const)
        await enqueue(redis(), fn, ['a'], { queue });
      const expected = ['1', '2', '3', '4', '5'];
      const read = await paged((page) => list('waiting', { order, size: 2, page }));
      expect(read).toEqual(order === 'oldest' ? expected : expected.toReversed());
      expect((await list('waiting')).total).toBe(5);
    },
  );

  it.each(['oldest', 'newest'] as const)(
    'reads jobs that ended at the same time in pages, the %s first',
    async (order) => {
      const expected = Array.from({ length: 9 }, (_, index) => String(index + 1));
      for (const id of expected) {
        await redis().hset(`job:${fn}:${id}`, { status: 'error', finished: NOW });
        await redis().zadd(`ended:${fn}:failed`, Number(id) > 7 ? NOW : NOW - 1, id);
      }
      const read = await paged((page) => list('failed', { order, size: 2, page }));
      expect(read).toEqual(order === 'oldest' ? expected : expected.toReversed());
    },
  );

  it.each(['oldest', 'newest'] as const)(
    'leaves no job out in the place of one of the page before that is gone, the %s first',
    async (order) => {
      for (const id of ['1', '2', '3', '4']) {
        await redis().hset(`job:${fn}:${id}`, { status: 'error', finished: NOW });
        await redis().zadd(`ended:${fn}:failed`, NOW + Number(id), id);
      }
      const before = await list('failed', { order, size: 2 });
      const gone = before.jobs.map(({ id }) => id);
      await redis().zrem(`ended:${fn}:failed`, ...gone);
      const left = order === 'oldest' ? ['3', '4'] : ['2', '1'];
      await expect(ids(list('failed', { order, page: before.next }))).resolves.toEqual(left);
    },
  );

  it.each(['oldest', 'newest'] as const)('reads jobs of one list in pages, the %s first', async (order) => {
    await enqueue(redis(), fn, ['a', 'a', 'a', 'a', 'a']);
    const expected = ['1', '2', '3', '4', '5'];
    const read = await paged((page) => list('waiting', { order, size: 2, page }));
    expect(read).toEqual(order === 'oldest' ? expected : expected.toReversed());
  });

  it.each(['oldest', 'newest'] as const)('reads running jobs by their ids, the %s first', async (order) => {
    await enqueue(redis(), fn, Array<string>(11).fill('a'));
    await claim(redis(), fn, { slots: 11 });
    const expected = Array.from({ length: 11 }, (_, index) => String(index + 1));
    const read = await paged((page) => list('running', { order, size: 4, page }));
    expect(read).toEqual(order === 'oldest' ? expected : expected.toReversed());
  });

  it('reads jobs that wait for the turn of their key after the others, also of full keys', async () => {
    await enqueueLimited(redis(), fn, ['full', 'full']);
    await claim(redis(), fn);
    await enqueueLimited(redis(), fn, ['free']);
    await enqueueLimited(redis(), fn, ['full'], { priority: 'high' });
    await enqueue(redis(), fn, ['no key']);
    const { total, jobs } = await list('waiting');
    expect([total, jobs.map(({ id }) => id)]).toEqual([4, ['5', '3', '4', '2']]);
  });

  it('leaves out scheduled jobs that wait for their retry, which it lists apart', async () => {
    await enqueue(redis(), fn, ['a']);
    await claim(redis(), fn);
    await claim(redis(), fn, { slots: 0, outcomes: ['1:1', 'retry', '50', '{}'] });
    await enqueue(redis(), fn, ['b'], { queue: 'scheduled', score: NOW });
    expect(await list('scheduled')).toMatchObject({ total: 1, jobs: [{ id: '2' }] });
    expect(await list('retrying')).toMatchObject({ total: 1, jobs: [{ id: '1' }] });
  });

  it('leaves out jobs that have another status than their list says', async () => {
    await enqueue(redis(), fn, ['a', 'b', 'c']);
    await redis().hset(`job:${fn}:2`, 'status', 'success');
    await redis().del(`job:${fn}:3`);
    expect(await ids(list('waiting'))).toEqual(['1']);
  });

  it('shows the beginning of an input, and none that is large', async () => {
    await enqueue(redis(), fn, ['x'.repeat(5000), 'x'.repeat(65_536), 'x'.repeat(65_537)]);
    const inputs = await field(list('waiting', { payloads: 1 }), 'input');
    expect(inputs.map((input) => input?.length)).toEqual([4096, 4096, undefined]);
    expect(await field(list('waiting', { payloads: 1 }), 'input:bytes')).toEqual(['5000', '65536', '65537']);
    expect(await field(list('waiting'), 'input')).toEqual([undefined, undefined, undefined]);
  });

  it('reads half a mebibyte of inputs for a page', async () => {
    await enqueue(redis(), fn, Array<string>(10).fill('x'.repeat(60_000)));
    const inputs = await field(list('waiting', { payloads: 1 }), 'input');
    expect(inputs.filter((input) => input !== undefined)).toHaveLength(8);
  });

  it('takes a key of another type for an empty one', async () => {
    await redis().set(`queue:${fn}:normal`, 'text');
    await enqueue(redis(), fn, ['a'], { queue: 'low' });
    expect(await list('waiting')).toMatchObject({ total: 1, jobs: [{ id: '1' }] });
  });

  it('fails for a key that it may not read, rather than show it as empty', async () => {
    await enqueue(redis(), fn, ['a']);
    await redis().acl('SETUSER', 'viewer', 'reset', 'on', 'nopass', '+@all', '-lrange', '~*', '&*');
    const viewer = redis().duplicate({ username: 'viewer', password: 'any' });
    try {
      await expect(list('waiting', {}, viewer)).rejects.toThrow("can't run");
    } finally {
      viewer.disconnect();
      await redis().acl('DELUSER', 'viewer');
    }
  });
});

describe('find-jobs.lua', () => {
  const states = async (page: ReturnType<typeof find>) =>
    (await page).jobs.map(({ id, stored }) => `${id} ${String(stored.get('state'))}`);

  it('finds the jobs of a tag in the order of their ids, and none of longer tags', async () => {
    await redis().set(`uid:${fn}`, 7);
    for (let count = 0; count < 4; count++) await enqueue(redis(), fn, ['a'], { options: '{"tags":["t"]}' });
    await enqueue(redis(), fn, ['a'], { options: '{"tags":["tt","t:1"]}' });
    const expected = ['8', '9', '10', '11'];
    for (const order of ['oldest', 'newest'] as const) {
      const read = await paged((page) => find('tag', 't', { order, size: 3, page }));
      expect(read).toEqual(order === 'oldest' ? expected : expected.toReversed());
    }
    expect((await find('tag', 't')).total).toBe(4);
  });

  it('says that a job waits for its retry until that is due', async () => {
    await enqueue(redis(), fn, ['a']);
    await claim(redis(), fn);
    await claim(redis(), fn, { slots: 0, outcomes: ['1:1', 'retry', '50', '{}'] });
    expect(await states(find('id', '1', { now: NOW + 49 }))).toEqual(['1 retrying']);
    expect(await states(find('id', '1', { now: NOW + 50 }))).toEqual(['1 scheduled']);
  });

  it('finds the last job of a unique key, but not another that has its id', async () => {
    await unique(redis(), fn, [{ key: 'a' }]);
    expect(await states(find('key', 'a'))).toEqual(['1 waiting']);
    await redis().hset(`job:${fn}:1`, 'mark', 8_000_000);
    expect(await states(find('key', 'a'))).toEqual([]);
  });

  it('finds all jobs of a key of a limit that have not ended', async () => {
    await enqueueLimited(redis(), fn, ['a', 'a', 'other']);
    await enqueueLimited(redis(), fn, ['a'], { score: (NOW + 50) / 1000 });
    await claim(redis(), fn, { slots: 1 });
    expect(await states(find('key', 'a'))).toEqual(['1 running', '2 waiting', '4 scheduled']);
  });

  it('finds no jobs of another function that shares the limit', async () => {
    const shared = { rules: `:::fair:${fn}`, shared: '5::' };
    // Names of the same length.
    const other = `${fn}-b`;
    fn = `${fn}-a`;
    await enqueueLimited(redis(), other, ['a', 'a', 'a'], shared);
    await claim(redis(), other);
    await enqueueLimited(redis(), fn, ['a', 'b', 'b'], shared);
    await claim(redis(), fn);
    expect(await states(find('key', 'a'))).toEqual(['1 running']);
  });
});

describe('overview.lua', () => {
  it('counts the jobs of each state once', async () => {
    await enqueue(redis(), fn, ['succeeds', 'fails', 'retries', 'runs']);
    await claim(redis(), fn);
    const outcomes = ['1:1', 'success', '', '', '2:1', 'error', '', '{}', '3:1', 'retry', '50', '{}'];
    await claim(redis(), fn, { slots: 0, outcomes });
    await enqueue(redis(), fn, ['later', 'later'], { queue: 'scheduled', score: NOW });
    await enqueue(redis(), fn, ['waits'], { queue: 'high' });
    expect(await overview()).toMatchObject({
      ...{ high: '1', normal: '0', low: '0', scheduled: '2', retrying: '1', running: '1' },
      ...{ success: '1', failed: '1', cancelled: '0', paused: '0', full: '0' },
    });
  });

  it('counts jobs with a key with the others, and its full keys', async () => {
    await enqueueLimited(redis(), fn, ['a', 'a', 'b']);
    await claim(redis(), fn);
    await enqueueLimited(redis(), fn, ['c'], { priority: 'high' });
    await enqueueLimited(redis(), fn, ['c'], { score: NOW });
    await enqueue(redis(), fn, ['no key']);
    expect(await overview()).toMatchObject({
      high: '1',
      normal: '2',
      scheduled: '1',
      running: '2',
      full: '1',
    });
  });

  it('says when the oldest waiting job was created', async () => {
    await enqueue(redis(), fn, ['a', 'b'], { queue: 'low' });
    await enqueue(redis(), fn, ['c'], { queue: 'high' });
    for (const id of [1, 2, 3]) await redis().hset(`job:${fn}:${id}`, 'created', NOW + id);
    expect(await overview()).toMatchObject({ oldest: String(NOW + 1) });
  });

  it('counts plain workers and those of this package that live', async () => {
    await redis().set(`count:${fn}`, 3);
    await redis().zadd(`workers:${fn}`, NOW, 'dead', NOW + 1, 'alive');
    expect(await overview()).toMatchObject({ workers: '2' });
  });
});
