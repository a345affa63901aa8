import { beforeEach, describe, expect, it } from '@jest/globals';
import * as operations from '../../../lib/jq/engine/operations.js';
import { pack } from '../../../lib/jq/message-pack/pack.js';
import { Raw } from '../../../lib/jq/message-pack/raw.js';
import { Administration } from '../../../lib/jq/engine/administration.js';
import { useRedis } from '../../support/use-redis.js';
import { EngineRig, NO_LIMITS } from './engine-rig.js';

const HOUR = 60 * 60 * 1000;
const large = new Raw(pack({ text: 'x'.repeat(2000) }));

describe('what is kept besides jobs that wait', () => {
  const used = useRedis();
  let prefix: string;
  beforeEach(() => {
    prefix = `{${used.fn('jq')}}:`;
  });
  const totals = () => used.redis.hgetall(`${prefix}totals`);

  it('are large arguments: they are refused beyond a sum, until some are done or forgotten', async () => {
    const rig = new EngineRig(used.redis, prefix, { maxQueuedBytes: 5000 });
    const big = (maxRetry = 0) => rig.enqueue({ argument: large, maxRetry });
    await rig.worker({ maxJobs: 9 });
    const cancelled = await big();
    await big();
    await expect(big()).rejects.toThrow('full');
    await rig.enqueue();
    await rig.run(operations.cancel(cancelled));
    await big();
    const [done, , dead] = await rig.handOut();
    for (const job of [done, dead]) if (job) await rig.answer(job, 'accepted');
    if (!done || !dead) throw new Error('Three jobs were expected.');
    await expect(big()).rejects.toThrow('full');
    await rig.succeed(done);
    await rig.fail(dead);
    // The dead one is kept with its argument.
    await expect(totals()).resolves.toEqual({ bytes: String(large.bytes.length) });
    await expect(new Administration(rig).discard(dead.id)).resolves.toBe('discarded');
    await expect(totals()).resolves.toEqual({});
  });

  it('are dead letters that are never read: they go, and their bytes with them', async () => {
    const rig = new EngineRig(used.redis, prefix, { tombstone: '1h' });
    await rig.worker();
    await rig.enqueue({ argument: large, maxRetry: 0 });
    await rig.fail(await rig.accepted());
    await rig.pass(HOUR + 1);
    await expect(totals()).resolves.toEqual({});
  });

  it('are keys of requests: beyond so many a further one is remembered for a minute', async () => {
    const rig = new EngineRig(used.redis, prefix, { maxKeys: 2, forgetKey: '1h' });
    const enqueue = (key: string) => {
      const job = {
        name: 'mail',
        argument: Raw.EMPTY_MAP,
        priority: 0,
        maxRetry: 0,
        keepResult: false,
        timeout: 1,
      };
      return rig.run(operations.enqueue(job, '00000000', NO_LIMITS, key));
    };
    const first = await enqueue('a');
    for (const key of ['b', 'c']) await expect(enqueue(key)).resolves.toMatchObject({ status: 'created' });
    await expect(enqueue('a')).resolves.toEqual(first);
    const times = await Promise.all(
      (await used.redis.keys(`${prefix}key:*`)).map((key) => used.redis.pttl(key)),
    );
    const [short, ...long] = times.sort((one, other) => one - other);
    expect(short).toBeLessThanOrEqual(60_000);
    expect(Math.min(...long)).toBeGreaterThan(HOUR / 2);
    await rig.pass(2 * HOUR);
    await expect(used.redis.exists(`${prefix}key-counts`)).resolves.toBe(0);
  });
});
