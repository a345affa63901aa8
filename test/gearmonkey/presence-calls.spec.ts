import { describe, expect, it } from '@jest/globals';
import { Presence } from '../../lib/gearmonkey/core/source/held-claims.js';
import { taggedKeysOf } from '../../lib/gearmonkey/core/wire/hash-tags.js';
import { keysOf } from '../../lib/gearmonkey/core/wire/protocol.js';
import { CommandTrace } from '../support/command-trace.js';
import { useRedis } from '../support/use-redis.js';

const functions = Array.from({ length: 250 }, (_, index) => `fn-${index}`);

describe('The calls that sign the presence of a worker', () => {
  const server = useRedis();

  it('have a hundred functions each, and all of them', () => {
    const calls = new Presence({ worker: 'w', keysOf, bySlot: false }).signedTogether(functions);
    expect(calls.map(({ length }) => length / 2)).toEqual([100, 100, 50]);
    expect(calls.flat()).toEqual(functions.flatMap((fn) => [`count:${fn}`, `workers:${fn}`]));
  });

  it('have functions of one slot on a cluster', () => {
    const presence = new Presence({ worker: 'w', keysOf: taggedKeysOf, bySlot: true });
    expect(presence.signedTogether(['{a}:1', '{b}:1', '{a}:2'])).toEqual([
      ['count:{a}:1', 'workers:{a}:1', 'count:{a}:2', 'workers:{a}:2'],
      ['count:{b}:1', 'workers:{b}:1'],
    ]);
  });

  it('say whether it is a heartbeat, which checks only some functions', async () => {
    const presence = new Presence({ worker: 'w', keysOf, bySlot: false });
    await presence.sign(server.redis, ['fn'], 1000);
    await expect(server.redis.mget('count:fn')).resolves.toEqual(['1']);
    const trace = await CommandTrace.start(server.redis);
    await presence.sign(server.redis, ['fn'], 1000, 1);
    await presence.sign(server.redis, ['fn'], 0);
    const calls = (await trace.take()).filter(({ name }) => name === 'presence');
    trace.stop();
    expect(calls.map(({ args }) => args.slice(-3))).toEqual([
      ['w', '1000', '1'],
      ['w', '0', '0'],
    ]);
    await expect(server.redis.mget('count:fn')).resolves.toEqual(['0']);
  });
});
