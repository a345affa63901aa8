import type { Redis } from 'ioredis';
import { EmbeddedServer } from '../../lib/embedded/embedded-server.js';
import { GearMonkeyClient } from '../../lib/gearmonkey/client.js';
import { keysOf } from '../../lib/gearmonkey/core/wire/protocol.js';
import { MAX_STALLS, stateOf, type ClientRig } from '../contract/rig.js';
import { TimeLeaps } from '../support/time-leaps.js';
import { EmbeddedConnection, openEmbedded } from '../../lib/embedded/open-embedded.js';

const LEASE_MS = 30_000;
/** More than all tests that use one source let pass. */
const LONG_LEASE_MS = 3_600_000;

/** An embedded server of a `describe`. */
export async function memoryRig(): Promise<ClientRig & { readonly redis: Redis }> {
  const server = new EmbeddedServer({ now: () => Date.now() });
  const redis = (await new EmbeddedConnection(server, 'test').ready()) as Redis;
  const closing: (() => void)[] = [];
  const illegal: string[] = [];
  const open = (options = {}) => {
    const opened = openEmbedded(server, options);
    closing.push(() => {
      void opened.store.close();
      opened.close();
    });
    return opened;
  };
  const store = () => open().store;
  let names = 0;
  return {
    fn: () => `fn-${++names}`,
    source: ({ lease = LEASE_MS } = {}) =>
      open({ lease, maxStalls: MAX_STALLS, onIllegal: (message: string) => illegal.push(message) }).source,
    client: (options) => new GearMonkeyClient(store(), options),
    store,
    deleteHash: async (fn, id) => void (await redis.del(keysOf(fn).jobs + id)),
    submit: async (fn, input, { queue, score, options } = { queue: 'normal' }) => {
      const id = String(await redis.incr(`uid:${fn}`));
      await redis.hset(`job:${fn}:${id}`, 'status', 'idle', 'input', Buffer.from(input as Uint8Array));
      if (options !== undefined) await redis.hset(`job:${fn}:${id}`, 'options', options);
      await redis.publish(`channel:${fn}`, `create:${id}`);
      if (queue === 'scheduled') await redis.zadd(`queue:${fn}:scheduled`, score ?? 0, id);
      else await redis.lpush(`queue:${fn}:${queue}`, id);
      return id;
    },
    stored: async (fn, id) =>
      stateOf(new Map(Object.entries(await redis.hgetallBuffer(keysOf(fn).jobs + id)))),
    workers: async (fn) => Number(await redis.get(keysOf(fn).count)),
    subscriptions: async (fn) => Number((await redis.pubsub('NUMSUB', `channel:${fn}`))[1]),
    close: async () => {
      for (const close of closing) close();
      if (illegal.length > 0) throw new Error(`Illegal transitions: ${illegal.join('; ')}`);
    },
    redis,
  };
}

/** The same, whose time a test can let pass. */
export async function leapingMemoryRig(): Promise<ClientRig> {
  const leaps = new TimeLeaps();
  const rig = await memoryRig();
  const { redis } = rig;
  return {
    ...rig,
    source: ({ lease = LONG_LEASE_MS } = {}) => rig.source({ lease }),
    pass: async (ms) => {
      leaps.move(ms);
      // As if workers had looked all the time: otherwise this is an outage, after which leases get time to be renewed.
      await Promise.all((await redis.keys('recovery:*')).map((key) => redis.del(key)));
      leaps.ring();
    },
    close: async () => {
      await rig.close();
      leaps.end();
    },
  };
}
