import { describe, expect, it } from '@jest/globals';
import { keysOf } from '../../lib/gearmonkey/core/wire/protocol.js';
import { presence } from '../../lib/gearmonkey/core/wire/scripts.js';
import { until } from '../support/until.js';
import { useRedis } from '../support/use-redis.js';

const HOLD_MS = 50;

describe('Workers that are silent for longer than their presence', () => {
  const used = useRedis();

  it('are not counted twice beside a plain worker', async () => {
    const { count, workers } = keysOf(used.fn());
    const sign = (worker: string, hold: number) =>
      presence.run(used.redis, [count, workers], '', worker, hold, 0).then(([present]) => present);
    await used.redis.incr(count);
    await sign('a', HOLD_MS);
    expect(await sign('b', HOLD_MS)).toBe(3);
    const oldest = async () => Number((await used.redis.zrange(workers, '0', '0', 'WITHSCORES'))[1]);
    await until(async () => (await oldest()) + 2 * HOLD_MS < Date.now());
    await sign('a', 10_000);
    expect(await sign('b', 10_000)).toBe(3);
    await sign('a', 0);
    expect(await sign('b', 0)).toBe(1);
  });
});
