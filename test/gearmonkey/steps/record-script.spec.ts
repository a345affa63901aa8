import { describe, expect, it } from '@jest/globals';
import { keysOf, streamKey } from '../../../lib/gearmonkey/core/wire/protocol.js';
import { append, readStream } from '../../../lib/gearmonkey/features/streams/stream-scripts.js';
import { record } from '../../../lib/gearmonkey/core/wire/scripts.js';
import { useRedis } from '../../support/use-redis.js';
import { claim, enqueue } from '../scripts/scripts.js';

const server = useRedis();

/** A function whose job 1 runs. */
async function running(): Promise<string> {
  const fn = server.fn();
  await enqueue(server.redis, fn, ['a']);
  await claim(server.redis, fn);
  return fn;
}

const hash = (fn: string) => `${keysOf(fn).jobs}1`;

describe('record.lua', () => {
  const write = (fn: string, member: string, removed: number, rest: string[]) =>
    record.run(server.redis, [hash(fn), keysOf(fn).leases], member, removed, rest);

  it('writes steps, and removes those that are to be done again', async () => {
    const fn = await running();
    await expect(write(fn, '1:1', 0, ['step:a', '1', 'step:b', '2', 'step:c', '3'])).resolves.toBe(true);
    await expect(write(fn, '1:1', 2, ['step:a', 'step:c', 'step:b', '4'])).resolves.toBe(true);
    const stored = await server.redis.hmget(hash(fn), 'step:a', 'step:b', 'step:c');
    expect(stored).toEqual([null, '4', null]);
  });

  it('writes nothing for a worker that lost the job', async () => {
    const fn = await running();
    await expect(write(fn, '1:2', 1, ['input', 'step:a', '1'])).resolves.toBe(false);
    await expect(server.redis.hmget(hash(fn), 'step:a', 'input')).resolves.toEqual([null, 'a']);
  });
});

describe('append.lua', () => {
  const list = (fn: string) => streamKey(hash(fn), 'log');
  const add = (
    fn: string,
    sent: number,
    entries: string[],
    { most = 100, bytes = 100, member = '1:1' } = {},
  ) => {
    const { leases, progress } = keysOf(fn);
    const keys = [hash(fn), leases, list(fn), progress];
    return append.run(server.redis, keys, member, 'log', sent, most, bytes, 60, entries);
  };
  const read = async (fn: string, from: number, most = 100) => {
    const page = await readStream.run(server.redis, [hash(fn), list(fn)], 'log', from, most);
    return { ...page, entries: page.entries.map(String) };
  };

  it('adds nothing for a worker that lost the job', async () => {
    const fn = await running();
    await expect(add(fn, 0, ['a'], { member: '1:2' })).resolves.toBe(false);
    await expect(server.redis.exists(list(fn))).resolves.toBe(0);
  });

  it('keeps the newest entries, up to their number', async () => {
    const fn = await running();
    await add(fn, 0, ['a', 'b', 'c', 'd'], { most: 3 });
    await expect(read(fn, 0)).resolves.toEqual({ next: 4, total: 4, entries: ['b', 'c', 'd'] });
  });

  it('keeps the newest entries, up to their bytes in all calls', async () => {
    const fn = await running();
    await add(fn, 0, ['12345', '123']);
    await add(fn, 2, ['1234'], { bytes: 10 });
    await expect(read(fn, 0)).resolves.toEqual({ next: 3, total: 3, entries: ['123', '1234'] });
  });

  it('is read in pages, which go on behind entries that were dropped', async () => {
    const fn = await running();
    await add(fn, 0, ['a', 'b', 'c']);
    await expect(read(fn, 0, 2)).resolves.toEqual({ next: 2, total: 3, entries: ['a', 'b'] });
    await add(fn, 3, ['d', 'e'], { most: 2 });
    await expect(read(fn, 2, 1)).resolves.toEqual({ next: 4, total: 5, entries: ['d'] });
    await expect(read(fn, 4)).resolves.toEqual({ next: 5, total: 5, entries: ['e'] });
    await expect(read(fn, 5)).resolves.toEqual({ next: 5, total: 5, entries: [] });
  });

  it('is read in pages of half a mebibyte', async () => {
    const fn = await running();
    const large = 'x'.repeat(300_000);
    await add(fn, 0, [large, large, large], { bytes: 1e9 });
    await expect(read(fn, 0)).resolves.toMatchObject({ next: 2, total: 3 });
  });
});
