import { taggedKeysOf } from '../../lib/gearmonkey/core/wire/hash-tags.js';
import { stateOf, type ClientRig } from '../contract/rig.js';
import { RedisActors, submit, subscriptions } from '../gearmonkey/redis-rig.js';
import { RedisCluster } from '../support/redis-cluster.js';

/** With the longer one of the other rig, a worker waits longer until it recovers. */
const LEASE_MS = 6000;

/** A private cluster of a `describe`, whose actors of ours write hash tags, and plain ones `{fn}` themselves. */
export async function clusterRig(): Promise<ClientRig> {
  const cluster = await RedisCluster.start();
  const redis = cluster.client();
  const actors = new RedisActors({ nodes: cluster.nodes }, true);
  let names = 0;
  return {
    fn: () => `fn-${++names}`,
    source: (options) => actors.source({ lease: LEASE_MS, ...options }),
    client: (options) => actors.client(options),
    store: () => actors.store(),
    deleteHash: async (fn, id) => void (await redis.del(taggedKeysOf(fn).jobs + id)),
    submit: (fn, input, placement) => submit(redis, `{${fn}}`, input, placement),
    stored: async (fn, id) =>
      stateOf(new Map(Object.entries(await redis.hgetallBuffer(taggedKeysOf(fn).jobs + id)))),
    workers: async (fn) => Number(await redis.get(taggedKeysOf(fn).count)),
    subscriptions: async (fn) => {
      const held = await Promise.all(cluster.members.map((member) => subscriptions(member.redis, `{${fn}}`)));
      return held.reduce((sum, count) => sum + count, 0);
    },
    close: async () => {
      actors.close();
      redis.disconnect();
      await cluster.stop();
    },
  };
}
