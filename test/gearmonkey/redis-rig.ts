import { Redis, type Cluster } from 'ioredis';
import { GearMonkeyClient, type ClientOptions } from '../../lib/gearmonkey/client.js';
import type { Placement } from '../../lib/gearmonkey/core/client/job-store.js';
import { openConnections, type RedisConnections } from '../../lib/gearmonkey/redis-connections.js';
import { RedisSource } from '../../lib/gearmonkey/redis-source.js';
import type { RedisSourceOptions } from '../../lib/gearmonkey/core/source/source-options.js';
import { RedisStore } from '../../lib/gearmonkey/redis-store.js';
import type { Payload } from '../../lib/job/codec.js';
import type { ConnectionSpec } from '../../lib/redis/connect.js';
import { MAX_STALLS } from '../contract/rig.js';

const LEASE_MS = 30_000;
const TIMEOUT_MS = 15_000;

/** Sources and clients of ours on a server or cluster, which `close` ends together. */
export class RedisActors {
  /** Transitions that sources made though no state allows them. */
  readonly illegal: string[] = [];
  private readonly closing: (() => void)[] = [];

  constructor(
    private readonly spec: ConnectionSpec,
    private readonly hashTag = false,
  ) {}

  /** Without `keeper` its leases are renewed only by calls of `renew`. */
  source(options: RedisSourceOptions = {}, { keeper = false } = {}): RedisSource {
    const { keysOf: naming, ...connections } = this.open();
    return new RedisSource(
      { ...connections, keeper: keeper ? connections.keeper : undefined },
      {
        lease: LEASE_MS,
        maxStalls: MAX_STALLS,
        keysOf: naming,
        onIllegal: (message) => this.illegal.push(message),
        ...options,
      },
    );
  }

  /** @param timeout in ms, of each command */
  client(options?: ClientOptions, timeout = TIMEOUT_MS): GearMonkeyClient {
    return new GearMonkeyClient(this.store(timeout), options);
  }

  store(timeout = TIMEOUT_MS): RedisStore {
    const { commands, hub, keysOf: naming } = this.open();
    return new RedisStore(commands, hub, { timeout, keysOf: naming });
  }

  close(): void {
    for (const close of this.closing) close();
  }

  private open(): RedisConnections {
    const connections = openConnections(this.spec, this.hashTag);
    const { commands, hub, close } = connections;
    this.closing.push(() => {
      hub.close();
      commands.close();
      close();
    });
    return connections;
  }
}

/** The commands of a plain client, as the protocol has them; options are a field of ours. */
export async function submit(
  redis: Redis | Cluster,
  fn: string,
  input: Payload,
  { queue, score, options }: Placement = { queue: 'normal' },
): Promise<string> {
  const id = String(await redis.incr(`uid:${fn}`));
  const job = redis
    .pipeline()
    .hmset(`job:${fn}:${id}`, 'status', 'idle', 'input', Buffer.from(input as Uint8Array));
  if (options !== undefined) job.hset(`job:${fn}:${id}`, 'options', options);
  job.publish(`channel:${fn}`, `create:${id}`);
  if (queue === 'scheduled') job.zadd(`queue:${fn}:scheduled`, score ?? 0, id);
  else job.lpush(`queue:${fn}:${queue}`, id);
  for (const [error] of (await job.exec()) ?? []) if (error) throw error;
  return id;
}

export async function subscriptions(redis: Redis, fn: string): Promise<number> {
  return Number((await redis.pubsub('NUMSUB', `channel:${fn}`))[1]);
}
