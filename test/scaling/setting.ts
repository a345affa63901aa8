import { Redis, type Cluster } from 'ioredis';
import { keysOf, type KeysOf } from '../../lib/gearmonkey/core/wire/protocol.js';
import { taggedKeysOf } from '../../lib/gearmonkey/core/wire/hash-tags.js';
import { slotOf } from '../../lib/redis/cluster-slots.js';
import { RedisCluster, type ClusterMember } from '../support/redis-cluster.js';
import { RedisSentinels } from '../support/redis-sentinels.js';
import type { RedisServer } from '../support/redis-server.js';
import { until } from '../support/until.js';

/** Every write goes to the log at once, and the whole log is kept: the checker reads it. */
const LOGGED = ['--appendonly', 'yes', '--appendfsync', 'no', '--auto-aof-rewrite-percentage', '0'];
const FAILOVER_MS = 30_000;

/** Servers whose master will fail, and what the run has to know of them. */
export interface Setting {
  /** The module options of processes of ours. */
  readonly module: object;
  readonly keysOf: KeysOf;
  /** Follows the failover. */
  readonly redis: Redis | Cluster;
  /** Hears every channel, and outlives the master. */
  readonly ear: Redis;
  /** Whether the function lies on the master that will fail. */
  isHit(fn: string): boolean;
  /** From now on the replica gets nothing more from the master. Resolves to a connection to what it has. */
  cutReplica(): Promise<Redis>;
  /** SIGKILL to the master; resolves when the replica has taken over. */
  failover(): Promise<void>;
  /** The servers that are masters by now. */
  masters(): Promise<readonly { readonly server: RedisServer; readonly redis: Redis }[]>;
  stop(): Promise<void>;
}

/** A cluster of three masters; the one that holds `fn` will fail. */
export async function clusterSetting(fn: string): Promise<Setting> {
  const cluster = await RedisCluster.start(LOGGED);
  const victim = await cluster.masterOf(taggedKeysOf(fn).jobs);
  const replica = await cluster.replicaOf(victim);
  const ear = cluster.members.find((member) => member !== victim && member !== replica) as ClusterMember;
  const ranges = (await victim.redis.cluster('SLOTS')).filter(
    ([, , master]) => master?.[1] === victim.server.port,
  );
  const redis = cluster.client();
  return {
    module: { connection: { nodes: cluster.nodes }, hashTag: true },
    keysOf: taggedKeysOf,
    redis,
    ear: connectedTo(ear.server.url),
    isHit: (name) => {
      const slot = slotOf(taggedKeysOf(name).jobs);
      return ranges.some(([from, to]) => from <= slot && slot <= to);
    },
    cutReplica: () => cut(victim.redis, replica.redis),
    failover: async () => {
      await cluster.fail(victim);
      const isMaster = async () => (await replica.redis.role())[0] === 'master' && (await cluster.isWhole());
      await until(isMaster, { timeout: FAILOVER_MS, message: 'The cluster did not fail over' });
    },
    masters: () => cluster.masters(),
    stop: async () => {
      redis.disconnect();
      await cluster.stop();
    },
  };
}

/** A master and a replica, under the eyes of sentinels. */
export async function sentinelSetting(): Promise<Setting> {
  const { master, replica, ...rest } = await startSentinels();
  const [old, next] = [master, replica].map(({ url }) => connectedTo(url)) as [Redis, Redis];
  return {
    module: { connection: rest.sentinels.options },
    keysOf,
    redis: rest.redis,
    ear: connectedTo(replica.url),
    isHit: () => true,
    cutReplica: () => cut(old, next),
    failover: async () => {
      await rest.sentinels.failMaster();
      const isMaster = async () => (await next.role())[0] === 'master';
      await until(isMaster, { timeout: FAILOVER_MS, message: 'The sentinels did not fail over' });
    },
    masters: () => Promise.resolve([{ server: replica, redis: next }]),
    stop: async () => {
      for (const redis of [rest.redis, old, next]) redis.disconnect();
      await rest.sentinels.stop();
    },
  };
}

async function startSentinels() {
  const sentinels = await RedisSentinels.start(LOGGED);
  const { master, replica } = sentinels;
  return { sentinels, master, replica, redis: sentinels.client() };
}

function connectedTo(url: string): Redis {
  const redis = new Redis(url, { disconnectTimeout: 100 });
  redis.on('error', () => undefined);
  return redis;
}

/** With a password that the master doesn't ask for, the replica is refused whenever it comes back. */
async function cut(master: Redis, replica: Redis): Promise<Redis> {
  await replica.config('SET', 'masterauth', 'not asked for');
  await master.call('CLIENT', 'KILL', 'TYPE', 'replica');
  await until(async () => (await replica.info('replication')).includes('master_link_status:down'));
  await replica.call('READONLY').catch(() => undefined);
  return replica;
}
