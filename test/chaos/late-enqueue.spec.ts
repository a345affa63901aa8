import { describe, expect, it } from '@jest/globals';
import { keysOf } from '../../lib/gearmonkey/core/wire/protocol.js';
import { enqueue } from '../../lib/gearmonkey/core/wire/scripts.js';
import { useRedis } from '../support/use-redis.js';

describe('A call of enqueue.lua that arrives after the next one of its sender', () => {
  const used = useRedis();

  it('creates nothing, because it had been sent again on another connection', async () => {
    const fn = used.fn();
    const { ids, jobs, normal, channel, wake, senders } = keysOf(fn);
    const call = (number: number, input: string) =>
      enqueue.run(
        used.redis,
        [ids, jobs, normal, channel, wake, `${senders}me:0`],
        1,
        number,
        60,
        0,
        '',
        '',
        [input],
      );
    await call(7, 'one');
    await call(8, 'two');
    await call(7, 'one');
    expect(await used.redis.lrange(normal, 0, -1)).toEqual(['2', '1']);
    expect(await call(8, 'two')).toBe(2);
  });
});
