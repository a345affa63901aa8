import { Cluster, Redis } from 'ioredis';
import { RedisServer } from './redis-server.js';
import { until } from './until.js';

const SLOTS = 16_384;
/** Milliseconds of silence after which a node is taken for failed … */
const NODE_TIMEOUT_MS = 1000;
/** … and while none is to fail: a busy machine holds nodes up, also their handshakes, which end with it. */
const PATIENT_NODE_TIMEOUT_MS = 20_000;
const START_MS = 30_000;
const MIGRATE_MS = 5000;
const MOVED_AT_ONCE = 100;
/** ioredis waits so long for the end of a connection, also of one that is gone. */
const DISCONNECT_MS = 100;
/** Redirections of one command, ten a second while a master is away. */
const PATIENCE = 200;
const NODE = [
  ...['--cluster-enabled', 'yes', '--cluster-node-timeout', `${PATIENT_NODE_TIMEOUT_MS}`],
  ...['--repl-diskless-sync-delay', '0', '--repl-ping-replica-period', '1'],
  ...['--cluster-replica-validity-factor', '0', '--cluster-replica-no-failover', 'yes'],
];

/** One server of a cluster and a connection that is redirected nowhere. */
export interface ClusterMember {
  readonly server: RedisServer;
  readonly redis: Redis;
}

/** Three masters with a replica each, all of the test's own. */
export class RedisCluster {
  private constructor(readonly members: readonly ClusterMember[]) {}

  /** @param args more of each redis-server's command line */
  static async start(args: readonly string[] = []): Promise<RedisCluster> {
    const servers = await Promise.all(Array.from({ length: 6 }, () => RedisServer.start([...NODE, ...args])));
    const members = servers.map((server) => ({
      server,
      redis: new Redis(server.url, { disconnectTimeout: DISCONNECT_MS }),
    }));
    for (const { redis } of members) redis.on('error', () => undefined);
    const cluster = new RedisCluster(members);
    try {
      await cluster.join();
    } catch (error) {
      await cluster.stop();
      throw error;
    }
    return cluster;
  }

  /** What `connection` takes. */
  get nodes(): { host: string; port: number }[] {
    return this.members.map(({ server }) => ({ host: '127.0.0.1', port: server.port }));
  }

  /** The member that holds the key as a master by now, as the others see it. */
  async masterOf(key: string): Promise<ClusterMember> {
    for (const { redis } of this.running()) {
      const slot = await redis.cluster('KEYSLOT', key);
      const ranges = await redis.cluster('SLOTS');
      const [, , [, port] = ['', 0]] = ranges.find(([from, to]) => from <= slot && slot <= to) ?? [];
      const holder = this.members.find(({ server }) => server.port === port);
      if (holder) return holder;
    }
    throw new Error(`No node has ${key}.`);
  }

  async replicaOf({ server }: ClusterMember): Promise<ClusterMember> {
    for (const member of this.running()) {
      const [role, , port] = await member.redis.role();
      if (role === 'slave' && port === server.port) return member;
    }
    throw new Error(`The master of port ${server.port} has no replica.`);
  }

  /** SIGKILL. The replica of a master takes over; no other ever does, as a master that is held up has not failed. */
  async fail(member: ClusterMember): Promise<void> {
    const [role] = await member.redis.role();
    if (role === 'master') {
      const replica = await this.replicaOf(member);
      await replica.redis.config('SET', 'cluster-replica-no-failover', 'no');
      await this.setNodeTimeout(NODE_TIMEOUT_MS);
    }
    await member.server.kill();
  }

  /** Members that answer and say that they are masters. */
  async masters(): Promise<ClusterMember[]> {
    const roles = await Promise.all(
      this.running().map(async (member) => [member, await roleOf(member)] as const),
    );
    return roles.filter(([, role]) => role === 'master').map(([member]) => member);
  }

  /** Resolves when all slots are served by members that run, and their replicas are in step. */
  async isWhole(): Promise<boolean> {
    const states = await Promise.all(this.running().map(stateOf));
    return states.every((state) => state);
  }

  /** Moves the slot of a key; until `finish` it is on its way. */
  async beginMove(key: string, from: ClusterMember, to: ClusterMember): Promise<{ finish(): Promise<void> }> {
    const slot = await from.redis.cluster('KEYSLOT', key);
    const [source, target] = await Promise.all([from, to].map(({ redis }) => redis.cluster('MYID')));
    await to.redis.cluster('SETSLOT', slot, 'IMPORTING', source as string);
    await from.redis.cluster('SETSLOT', slot, 'MIGRATING', target as string);
    return {
      finish: async () => {
        await moveKeys(slot, from, to);
        for (const { redis } of await this.masters()) {
          await redis.cluster('SETSLOT', slot, 'NODE', target as string);
        }
      },
    };
  }

  /** A client of the test's, which follows redirections. */
  client(): Cluster {
    const cluster = new Cluster(this.nodes, { maxRedirections: PATIENCE });
    cluster.on('error', () => undefined);
    return cluster;
  }

  async stop(): Promise<void> {
    for (const { redis } of this.members) redis.disconnect();
    await Promise.all(this.members.map(({ server }) => server.stop()));
  }

  private async setNodeTimeout(ms: number): Promise<void> {
    await Promise.all(this.running().map(({ redis }) => redis.config('SET', 'cluster-node-timeout', ms)));
  }

  private running(): ClusterMember[] {
    return this.members.filter(({ redis }) => redis.status === 'ready');
  }

  private async join(): Promise<void> {
    const masters = this.members.slice(0, 3);
    await Promise.all(
      masters.map(async ({ redis }, i) => {
        const [from, to] = [i, i + 1].map((part) => Math.floor((part * SLOTS) / masters.length));
        await redis.cluster('ADDSLOTSRANGE', from ?? 0, (to ?? 0) - 1);
        await redis.cluster('SET-CONFIG-EPOCH', i + 1);
      }),
    );
    await Promise.all(
      this.members.map(async ({ redis }, i) => {
        for (const { server } of this.members.slice(i + 1))
          await redis.cluster('MEET', '127.0.0.1', server.port);
      }),
    );
    const met = async ({ redis }: ClusterMember) => {
      const nodes = String(await redis.cluster('NODES'))
        .trim()
        .split('\n');
      return nodes.length === this.members.length && !nodes.some((node) => node.includes('handshake'));
    };
    await this.all(met, 'The nodes did not meet');
    await this.setNodeTimeout(NODE_TIMEOUT_MS);
    await Promise.all(
      this.members.slice(3).map(async ({ redis }, i) => {
        await redis.cluster('REPLICATE', await (masters[i] as ClusterMember).redis.cluster('MYID'));
      }),
    );
    await until(() => this.isWhole(), { timeout: START_MS, message: 'The cluster did not form' });
    await until(async () => (await this.masters()).length === 3, { timeout: START_MS });
    await this.setNodeTimeout(PATIENT_NODE_TIMEOUT_MS);
  }

  private async all(holds: (member: ClusterMember) => Promise<boolean>, message: string): Promise<void> {
    await until(async () => (await Promise.all(this.members.map(holds))).every(Boolean), {
      timeout: START_MS,
      message,
    });
  }
}

/** Until none is left: some may be written meanwhile. */
async function moveKeys(slot: number, from: ClusterMember, to: ClusterMember): Promise<void> {
  for (;;) {
    const keys = await from.redis.cluster('GETKEYSINSLOT', slot, MOVED_AT_ONCE);
    if (keys.length === 0) return;
    await from.redis.migrate('127.0.0.1', to.server.port, '', 0, MIGRATE_MS, 'KEYS', ...keys);
  }
}

async function roleOf({ redis }: ClusterMember): Promise<string> {
  return (await redis.role())[0] as string;
}

async function stateOf({ redis }: ClusterMember): Promise<boolean> {
  const [info, replication] = await Promise.all([redis.cluster('INFO'), redis.info('replication')]);
  return info.includes('cluster_state:ok') && !replication.includes('master_link_status:down');
}
