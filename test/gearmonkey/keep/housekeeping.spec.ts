import { beforeEach, describe, expect, it } from '@jest/globals';
import { Housekeeping } from '../../../lib/gearmonkey/features/views/housekeeping.js';
import { SourceKeep } from '../../../lib/gearmonkey/features/keep/keep.js';
import { keysOf } from '../../../lib/gearmonkey/core/wire/protocol.js';
import { checkKeep } from '../../../lib/job/keep.js';
import { useRedis } from '../../support/use-redis.js';

const [MINUTE_MS, HOUR_MS] = [60_000, 3_600_000];

describe('Housekeeping', () => {
  const server = useRedis();
  let fn: string;
  let keep: SourceKeep;
  let housekeeping: Housekeeping;

  beforeEach(() => {
    fn = server.fn();
    keep = new SourceKeep();
    housekeeping = new Housekeeping(keysOf, keep, async () => server.redis);
  });

  const list = (state: string) => `ended:${fn}:${state}`;
  /** Lists a job that ended so many milliseconds ago. */
  async function ended(state: string, id: string, ago: number): Promise<void> {
    const finished = Date.now() - ago;
    await server.redis.hset(`job:${fn}:${id}`, { status: 'error', finished });
    await server.redis.zadd(list(state), finished, id);
  }
  /** The listed jobs, without what the list says about itself. */
  const listed = async (state: string) =>
    (await server.redis.zrange(list(state), '0', '-1')).filter((id) => id !== '');

  it('removes jobs from the list of their state when they are kept no longer, once a minute', async () => {
    keep.set(fn, checkKeep({ success: { age: '1h' }, error: { age: '3h' } }));
    for (const state of ['success', 'failed']) {
      await ended(state, '1', 0);
      await ended(state, '2', 2 * HOUR_MS);
      await ended(state, '4', 4 * HOUR_MS);
    }
    await housekeeping.tend([fn], 0);
    await expect(listed('success')).resolves.toEqual(['1']);
    await expect(listed('failed')).resolves.toEqual(['2', '1']);
    await ended('success', '5', 2 * HOUR_MS);
    await housekeeping.tend([fn], MINUTE_MS - 1);
    await expect(listed('success')).resolves.toEqual(['5', '1']);
    await housekeeping.tend([fn], MINUTE_MS);
    await expect(listed('success')).resolves.toEqual(['1']);
  });

  it('deletes jobs beyond the number that is kept, each second', async () => {
    keep.set(fn, checkKeep({ error: { count: 2 } }));
    for (let id = 1; id <= 4; id++) await ended('failed', `${id}`, MINUTE_MS / id);
    await housekeeping.tend([fn], 0);
    await expect(listed('failed')).resolves.toEqual(['3', '4']);
    await ended('failed', '5', MINUTE_MS / 5);
    await housekeeping.tend([fn], 1000);
    await expect(listed('failed')).resolves.toEqual(['4', '5']);
    await expect(server.redis.exists(`job:${fn}:3`, `job:${fn}:4`)).resolves.toBe(1);
  });

  it('begins anew with a function that it led before', async () => {
    await ended('failed', '1', 100 * HOUR_MS);
    await housekeeping.tend([fn], 0);
    await ended('failed', '2', 100 * HOUR_MS);
    housekeeping.forget(fn);
    await housekeeping.tend([fn], 1);
    await expect(listed('failed')).resolves.toEqual([]);
  });
});

describe('SourceKeep', () => {
  it('has for each value what the function says, or else what the module says', () => {
    const keep = new SourceKeep(checkKeep({ success: { age: '1h', count: 5 }, error: { age: '2h' } }));
    keep.set('fn', checkKeep({ success: { age: '3h' } }));
    const error = { age: 2 * HOUR_MS, count: Infinity };
    expect(keep.of('fn')).toEqual({ success: { age: 3 * HOUR_MS, count: 5 }, error });
    expect(keep.of('other')).toEqual({ success: { age: HOUR_MS, count: 5 }, error });
  });
});
