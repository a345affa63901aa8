import { Redis } from 'ioredis';
import { RedisServer } from './redis-server.js';
import { until } from './until.js';

const SENTINELS = 3;
const QUORUM = '2';
/** Milliseconds of silence after which the master is taken for failed … */
const DOWN_AFTER_MS = 1000;
/** … and while it is not to fail: a busy machine holds it up. */
const PATIENT_DOWN_AFTER_MS = 20_000;
const FAILOVER_TIMEOUT_MS = '5000';
const START_MS = 30_000;
const NAME = 'jobs';
const NODE = ['--repl-diskless-sync-delay', '0', '--repl-ping-replica-period', '1'];

/** A master, a replica, and three sentinels that watch over them, all of the test's own. */
export class RedisSentinels {
  private constructor(
    readonly master: RedisServer,
    readonly replica: RedisServer,
    private readonly sentinels: readonly RedisServer[],
  ) {}

  /** @param args more of the command line of master and replica */
  static async start(args: readonly string[] = []): Promise<RedisSentinels> {
    const master = await RedisServer.start([...NODE, ...args]);
    const replicaOf = ['--replicaof', '127.0.0.1', `${master.port}`];
    const replica = await RedisServer.start([...NODE, ...replicaOf, ...args]);
    const sentinels = await Promise.all(
      Array.from({ length: SENTINELS }, () => RedisServer.start([], { sentinel: true })),
    );
    const all = new RedisSentinels(master, replica, sentinels);
    try {
      await all.watch();
    } catch (error) {
      await all.stop();
      throw error;
    }
    return all;
  }

  /** What `connection` takes. */
  get options(): { sentinels: { host: string; port: number }[]; name: string } {
    return { sentinels: this.sentinels.map(({ port }) => ({ host: '127.0.0.1', port })), name: NAME };
  }

  /** A client of the test's, which follows a failover. */
  client(): Redis {
    const redis = new Redis({ ...this.options, maxRetriesPerRequest: null, retryStrategy: () => 100 });
    redis.on('error', () => undefined);
    return redis;
  }

  /** SIGKILL; the replica takes over. */
  async failMaster(): Promise<void> {
    await this.atEach((sentinel) =>
      sentinel.call('SENTINEL', 'SET', NAME, 'down-after-milliseconds', DOWN_AFTER_MS),
    );
    await this.master.kill();
  }

  async stop(): Promise<void> {
    await Promise.all([this.master, this.replica, ...this.sentinels].map((server) => server.stop()));
  }

  /** Until each sentinel knows the replica and the other sentinels: before, they would not agree. */
  private async watch(): Promise<void> {
    await this.atEach(async (sentinel) => {
      await sentinel.call('SENTINEL', 'MONITOR', NAME, '127.0.0.1', this.master.port, QUORUM);
      await sentinel.call('SENTINEL', 'SET', NAME, 'down-after-milliseconds', PATIENT_DOWN_AFTER_MS);
      await sentinel.call('SENTINEL', 'SET', NAME, 'failover-timeout', FAILOVER_TIMEOUT_MS);
      const message = 'The sentinels did not find each other';
      await until(() => this.isKnownTo(sentinel), { timeout: START_MS, message });
    });
  }

  private async isKnownTo(sentinel: Redis): Promise<boolean> {
    const info = await sentinel.info('sentinel');
    return info.includes('status=ok') && info.includes(`slaves=1,sentinels=${SENTINELS}`);
  }

  private async atEach(act: (sentinel: Redis) => Promise<unknown>): Promise<void> {
    await Promise.all(
      this.sentinels.map(async ({ url }) => {
        const sentinel = new Redis(url);
        try {
          await act(sentinel);
        } finally {
          sentinel.disconnect();
        }
      }),
    );
  }
}
