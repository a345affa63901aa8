import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { GearMonkeyClient } from '../../lib/gearmonkey/client/client.js';
import type { Priority } from '../../lib/gearmonkey/client/run-options.js';
import { JobBegunError } from '../../lib/job/errors.js';
import { useRedis } from '../support/use-redis.js';
import { RedisActors } from './redis-rig.js';

const JOBS = 300;
const LISTS: readonly Priority[] = ['high', 'normal', 'low'];

describe('an update on Redis', () => {
  const used = useRedis();
  let actors: RedisActors;
  let client: GearMonkeyClient;
  beforeAll(() => {
    actors = new RedisActors(used.url);
    client = actors.client();
  });
  afterAll(() => actors.close());

  it('loses and doubles no job that plain workers pop meanwhile', async () => {
    const fn = used.fn();
    const handles = await client.runMany(fn, Array.from({ length: JOBS }));
    const popped: string[] = [];
    const plain = Array.from({ length: 3 }, async () => {
      const redis = used.redis.duplicate();
      const queues = LISTS.map((list) => `queue:${fn}:${list}`);
      for (;;) {
        const taken = await redis.brpop(...queues, 1);
        if (!taken) break;
        popped.push(taken[1]);
      }
      redis.disconnect();
    });
    const came = await Promise.allSettled(
      handles.flatMap((handle) => LISTS.map((priority) => handle.update({ priority }))),
    );
    await Promise.all(plain);
    expect(popped.map(Number).toSorted((a, b) => a - b)).toEqual(handles.map(({ id }) => Number(id)));
    const refused = came.filter(({ status }) => status === 'rejected') as PromiseRejectedResult[];
    for (const { reason } of refused) expect(reason).toBeInstanceOf(JobBegunError);
  });

  it('of a handle never reaches another job that got the id after a failover', async () => {
    const fn = used.fn();
    const lost = await client.run(fn, 'lost');
    await used.redis.del(`uid:${fn}`, `job:${fn}:1`, `queue:${fn}:normal`);
    await expect(lost.update({ input: 'x' })).rejects.toMatchObject({ code: 'JOB_NOT_FOUND' });
    await client.run(fn, 'new');
    await expect(lost.update({ input: 'x', priority: 'high' })).rejects.toMatchObject({ code: 'JOB_LOST' });
    await expect(client.get(fn, 1)).resolves.toMatchObject({ input: 'new' });
    await client.update(fn, 1, { input: 'newer' });
    await expect(client.get(fn, 1)).resolves.toMatchObject({ input: 'newer' });
  });
});
