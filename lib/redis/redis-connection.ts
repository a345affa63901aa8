import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { isReply } from './redis-errors.js';
import { ConfigurationError, ConnectionError } from '../job/errors.js';

/** A URL, ioredis options, or an ioredis client whose settings are used. A given client is never closed. */
export type ConnectionSpec = string | RedisOptions | Redis | Cluster;

const RECONNECT_STEP_MS = 50;
const RECONNECT_MAX_MS = 1000;

/**
 * Commands are neither queued while offline nor sent twice: who sends them decides what a broken
 * connection means. A socket that owes a reply for too long is taken for dead.
 */
const OWN_SETTINGS = {
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  autoResubscribe: false,
  maxRetriesPerRequest: 0,
  lazyConnect: true,
  disableClientInfo: true,
  socketTimeout: 5000,
  disconnectTimeout: 200,
  retryStrategy: (times: number) => Math.min(times * RECONNECT_STEP_MS, RECONNECT_MAX_MS),
} satisfies RedisOptions;

/** One connection of ours, opened when it is first needed and kept until `close`. */
export class RedisConnection {
  private client?: Redis | Cluster;
  private readonly waiting = new Set<() => void>();
  private lastError?: Error;
  private closed = false;

  /** @throws ConfigurationError for a URL that is none */
  constructor(
    private readonly spec: ConnectionSpec,
    private readonly role: string,
  ) {
    if (typeof spec === 'string') checkUrl(spec);
  }

  /** Whether commands would be sent at once. */
  get isReady(): boolean {
    return this.client?.status === 'ready';
  }

  /** Runs `listener` now if the connection is up, and whenever it has come up again. */
  onReady(listener: (client: Redis | Cluster) => void): void {
    const client = this.opened();
    client.on('ready', () => listener(client));
    if (this.isReady) listener(client);
  }

  /**
   * The client, once it takes commands.
   *
   * @throws ConnectionError when it doesn't within `timeout` milliseconds, or was closed
   */
  async ready(timeout = Infinity): Promise<Redis | Cluster> {
    const client = this.opened();
    if (!this.isReady) await this.untilReady(client, timeout);
    return client;
  }

  /** Asks until there is an answer, through broken connections: only for what may be asked twice. */
  async insist<T>(question: (client: Redis | Cluster) => Promise<T>): Promise<T> {
    for (;;) {
      const client = await this.ready();
      try {
        return await question(client);
      } catch (error) {
        if (isReply(error)) throw error;
      }
    }
  }

  close(): void {
    this.closed = true;
    this.client?.disconnect();
    // ioredis emits no 'end' for a connection that was about to try again.
    for (const giveUp of [...this.waiting]) giveUp();
  }

  private opened(): Redis | Cluster {
    if (this.closed) throw new ConnectionError('The connection is closed', 'the module was shut down');
    if (!this.client) {
      this.client = connect(this.spec, this.role);
      this.client.on('error', (error: Error) => (this.lastError = error));
      this.client.connect().catch((error: Error) => (this.lastError ??= error));
    }
    return this.client;
  }

  private untilReady(client: Redis | Cluster, timeout: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const done = (end: () => void) => {
        clearTimeout(timer);
        client.off('ready', onReady).off('end', onEnd);
        this.waiting.delete(onEnd);
        end();
      };
      const fail = (reason: string) =>
        done(() => reject(new ConnectionError('Redis is not reachable', this.lastError ?? reason)));
      const onReady = () => done(resolve);
      const onEnd = () => fail('the connection was closed');
      const timer =
        timeout === Infinity
          ? undefined
          : setTimeout(() => fail(`no connection within ${timeout} ms`), timeout);
      client.on('ready', onReady).on('end', onEnd);
      this.waiting.add(onEnd);
    });
  }
}

function connect(spec: ConnectionSpec, role: string): Redis | Cluster {
  const connectionName = `nestjs-gearmonkey:${role}`;
  if (spec instanceof Cluster) {
    const redisOptions = { ...spec.options.redisOptions, ...OWN_SETTINGS, connectionName };
    return spec.duplicate([], { ...spec.options, lazyConnect: true, redisOptions });
  }
  if (spec instanceof Redis) return spec.duplicate({ ...OWN_SETTINGS, connectionName });
  if (typeof spec === 'string') return new Redis(spec, { ...OWN_SETTINGS, connectionName });
  return new Redis({ ...spec, ...OWN_SETTINGS, connectionName });
}

/** @throws ConfigurationError without repeating the URL, which may hold a password */
function checkUrl(url: string): void {
  if (/^rediss?:\/\/./.test(url) && URL.canParse(url)) return;
  throw new ConfigurationError(
    "`connection` is not a URL like 'redis://127.0.0.1:6379', 'rediss://…' or 'memory:'. For anything else pass ioredis options or a client.",
  );
}
