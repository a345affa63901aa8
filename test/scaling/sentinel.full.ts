import { describe, expect, it } from '@jest/globals';
import { keysOf } from '../../lib/gearmonkey/core/wire/protocol.js';
import { claimOne, success } from '../contract/claiming.js';
import { RedisActors } from '../gearmonkey/redis-rig.js';
import { RedisSentinels } from '../support/redis-sentinels.js';
import { eventually } from '../support/until.js';

const LEASE_MS = 1500;
const FAILOVER_MS = 20_000;

describe('under Sentinel', () => {
  it('leases are renewed by the thread, and waiting calls get their results, after the master has failed', async () => {
    const sentinels = await RedisSentinels.start();
    const redis = sentinels.client();
    const actors = new RedisActors(sentinels.options);
    try {
      const source = actors.source({ lease: LEASE_MS, presence: LEASE_MS }, { keeper: true });
      await source.open(['fn']);
      const job = await actors.client().run('fn', 'long');
      const claim = await claimOne(source, 'fn');
      const result = job.result({ timeout: '60s' });
      const expiry = async () =>
        Number(await redis.zscore(keysOf('fn').leases, `${claim.id}:${claim.token}`));
      const renewed = async () => {
        const last = await expiry();
        const message = 'It was not renewed';
        await eventually(async () => expect(await expiry()).toBeGreaterThan(last), {
          timeout: FAILOVER_MS,
          message,
        });
      };
      await renewed();
      await sentinels.failMaster();
      await renewed();
      await expect(source.settle([success(claim, '"done"')])).resolves.toEqual([]);
      await expect(result).resolves.toBe('done');
      await source.close();
    } finally {
      actors.close();
      redis.disconnect();
      await sentinels.stop();
    }
  });
});
