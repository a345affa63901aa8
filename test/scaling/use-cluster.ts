import { afterAll, beforeAll } from '@jest/globals';
import type { Cluster } from 'ioredis';
import { RedisActors } from '../gearmonkey/redis-rig.js';
import { RedisCluster } from '../support/redis-cluster.js';

export interface UsedCluster {
  readonly cluster: RedisCluster;
  /** Connected to the cluster; closed when the `describe` ends. */
  readonly redis: Cluster;
  /** Clients and workers that write hash tags; closed when the `describe` ends. */
  readonly actors: RedisActors;
}

/** For a `describe`: one private cluster from its first test to its last. Its properties are there from `beforeAll` on. */
export function useCluster(): UsedCluster {
  let started: UsedCluster | undefined;
  beforeAll(async () => {
    const cluster = await RedisCluster.start();
    const actors = new RedisActors({ nodes: cluster.nodes }, true);
    started = { cluster, redis: cluster.client(), actors };
  });
  afterAll(async () => {
    started?.actors.close();
    started?.redis.disconnect();
    await started?.cluster.stop();
  });

  function current() {
    if (!started)
      throw new Error('The cluster of useCluster() starts in beforeAll: use it inside a test or hook.');
    return started;
  }

  return {
    get cluster() {
      return current().cluster;
    },
    get redis() {
      return current().redis;
    },
    get actors() {
      return current().actors;
    },
  };
}
