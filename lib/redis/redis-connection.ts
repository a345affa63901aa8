import { withDeadline } from '../job/deadline.js';
import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { setTimeout as delay } from 'node:timers/promises';
import { isReply, isTransientReply } from './redis-errors.js';
import { ConfigurationError, GearMonkeyError } from '../job/errors.js';
import { ConnectionError } from '../job/server-errors.js';

/** A URL, ioredis options, or an ioredis client whose settings are used. A given client is never closed. */
export type ConnectionSpec = string | RedisOptions | Redis | Cluster;

const RECONNECT_STEP_MS = 50;
const RECONNECT_MAX_MS = 1000;
const RETRY_MS = 50;
/** Whoever asks again at once would never let the event loop hear that the connection is gone. */
export const YIELD_MS = 1;

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
  socketTimeout: 1500,
  connectTimeout: 1500,
  // Redis' own guess of the time it still loads is often seconds too long.
  maxLoadingRetryTime: 250,
  reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
  disconnectTimeout: 200,
  retryStrategy: (times: number) => Math.min(times * RECONNECT_STEP_MS, RECONNECT_MAX_MS),
} satisfies RedisOptions;

/** One connection of ours, opened when it is first needed and kept until `close`. */
export class RedisConnection {
  private client?: Redis | Cluster;
  private readonly waiting = new Set<() => void>();
  private lastError?: Error;
  private closed = false;
  private since = 0;

  /** @throws ConfigurationError for a URL that is none */
  constructor(
    private readonly spec: ConnectionSpec,
    private readonly role: string,
  ) {
    if (typeof spec === 'string') checkUrl(spec);
  }

  /** Whether commands would be sent at once: not on a socket that has ended, though ioredis is yet to hear of it. */
  get isReady(): boolean {
    const { client } = this;
    return client?.status === 'ready' && (!('stream' in client) || client.stream.writable);
  }

  /** Whether it was wanted and is not there. */
  get isDown(): boolean {
    return this.client !== undefined && !this.isReady;
  }

  get isClosed(): boolean {
    return this.closed;
  }

  /** Milliseconds since the connection came up. */
  get uptime(): number {
    return this.isReady ? performance.now() - this.since : 0;
  }

  /** Connects if nothing has yet. */
  open(): void {
    if (!this.closed) this.opened();
  }

  /** Connects anew if a PING is not answered within `timeout` milliseconds. */
  async probe(timeout: number): Promise<void> {
    const { client } = this;
    if (!client || !this.isReady) return;
    const late = () => new ConnectionError('Redis did not answer', `not within ${timeout} ms`);
    await withDeadline(client.ping(), timeout, late).catch(() => {
      if (this.isReady) client.disconnect(true);
    });
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

  /**
   * Asks until there is an answer, through broken connections and refusals for now: only for what may be
   * asked twice.
   *
   * @throws ConnectionError when there is none within `timeout` milliseconds
   */
  async insist<T>(question: (client: Redis | Cluster) => Promise<T>, timeout = Infinity): Promise<T> {
    const until = performance.now() + timeout;
    for (;;) {
      const client = await this.ready(Math.max(1, until - performance.now()));
      try {
        return await question(client);
      } catch (error) {
        if (error instanceof GearMonkeyError || (isReply(error) && !isTransientReply(error))) throw error;
        if (performance.now() > until) throw new ConnectionError('Redis did not answer', error);
        await delay(isReply(error) ? RETRY_MS : YIELD_MS);
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
      // In an outage everybody waits for `ready`: that is no leak.
      this.client.setMaxListeners(0);
      this.client.on('ready', () => (this.since = performance.now()));
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
  const own = { ...OWN_SETTINGS, connectionName: `nestjs-gearmonkey:${role}` };
  if (spec instanceof Cluster) {
    const redisOptions = { ...spec.options.redisOptions, ...own };
    return spec.duplicate([], { ...spec.options, lazyConnect: true, redisOptions });
  }
  if (spec instanceof Redis) return spec.duplicate(own);
  if (typeof spec === 'string') return new Redis(spec, own);
  return new Redis({ ...spec, ...own });
}

/** Settings that may be handed to another thread. */
export interface PlainConnection {
  readonly options: object;
  readonly nodes?: readonly (string | object)[];
}

/** The settings of a connection, less what is no plain data (functions, TLS contexts); `undefined` if it is no use without. */
export function toPlainConnection(spec: ConnectionSpec, role: string): PlainConnection | undefined {
  if (spec instanceof Cluster) return undefined;
  const client = connect(spec, role) as Redis;
  const { options } = client;
  return options.Connector ? undefined : { options: { ...plain(options), lazyConnect: false } };
}

function plain(options: object): object {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => isCloneable(value)));
}

function isCloneable(value: unknown): boolean {
  try {
    structuredClone(value);
    return true;
  } catch {
    return false;
  }
}

/** @throws ConfigurationError without repeating the URL, which may hold a password */
function checkUrl(url: string): void {
  if (/^rediss?:\/\/./.test(url) && URL.canParse(url)) return;
  throw new ConfigurationError(
    "`connection` is not a URL like 'redis://127.0.0.1:6379', 'rediss://…' or 'memory:'. For anything else pass ioredis options or a client.",
  );
}
