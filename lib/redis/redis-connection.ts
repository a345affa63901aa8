import { Cluster, type Redis } from 'ioredis';
import { withDeadline } from '../job/clock.js';
import { ConnectionError } from '../job/server-errors.js';
import { showAs } from '../job/show-as.js';
import { withoutContext } from '../job/without-context.js';
import { checkSpec } from './check-spec.js';
import { masterOf, refreshSlots } from './cluster-slots.js';
import { connect, type ConnectionSpec } from './connect.js';
import { LineWatch } from './line-watch.js';
import { OutageLog, type ConnectionLog } from './outage-log.js';
import { isRefusedForNow } from './redis-errors.js';
import { isOutage, retryWhileUnreachable } from './retry.js';
import { addressOf, specAddress, isHopeless, isWrongDatabase } from './trouble.js';

/** A connection of this package, opened when it is first needed and kept until `close`. Logs never show its options. */
export class RedisConnection {
  static {
    showAs(RedisConnection, ({ address }) => ({ server: address }));
  }

  readonly #make: () => Redis | Cluster;
  readonly #spec: ConnectionSpec | undefined;
  readonly #log: OutageLog | undefined;
  #client: Redis | Cluster | undefined;
  #closed = false;
  readonly #line = new LineWatch();
  readonly #waiting = new Set<() => void>();
  readonly #demoted = new Set<() => void>();
  /** When each connection came up; on a cluster there is one per node. */
  readonly #since = new WeakMap<Redis | Cluster, number>();

  /**
   * @param spec the server, or a function that makes an unconnected client
   * @param log gets a line for each outage
   * @throws ConfigurationError for invalid connection options
   */
  constructor(spec: ConnectionSpec | (() => Redis | Cluster), role: string, log?: ConnectionLog) {
    if (typeof spec !== 'function') checkSpec(spec);
    this.#make = typeof spec === 'function' ? spec : () => connect(spec, role);
    this.#spec = typeof spec === 'function' ? undefined : spec;
    this.#log = log && new OutageLog(log);
  }

  /** A connection to the same server, not opened yet. */
  another = (role: string): RedisConnection => new RedisConnection(this.#spec ?? this.#make, role);

  /** Whether commands would be sent at once: false as soon as the socket has ended, before ioredis notices. */
  get isReady(): boolean {
    const client = this.#client;
    return client?.status === 'ready' && (!('stream' in client) || client.stream.writable);
  }

  /** Whether it was opened and is down. */
  get isDown(): boolean {
    return this.#client !== undefined && !this.isReady;
  }

  /** Where the server is, without credentials. */
  get address(): string {
    return this.#spec === undefined ? 'a node' : specAddress(this.#spec);
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  /** Why it is down, if known. */
  get trouble(): unknown {
    return this.isDown ? this.#line.reason : undefined;
  }

  /** Milliseconds since the connection came up; on a cluster, that to the master of `key`. */
  uptime(key: string): number {
    const client = this.#client;
    const node = client instanceof Cluster ? masterOf(client, key) : client;
    if (!this.isReady || node?.status !== 'ready') return 0;
    return performance.now() - (this.#since.get(node) ?? performance.now());
  }

  /** Connects, unless it has been opened already. */
  open(): void {
    if (!this.#closed) this.#opened();
  }

  /** Reconnects if a PING is not answered within `timeout` milliseconds. */
  async probe(timeout: number): Promise<void> {
    const client = this.#client;
    if (!client || !this.isReady) return;
    const nodes = client instanceof Cluster ? client.nodes('master') : [client];
    const late = () => new ConnectionError('Redis did not answer', `not within ${timeout} ms`);
    const ask = (node: Redis) =>
      withDeadline(node.ping(), timeout, late).catch(() => {
        if (node.status === 'ready') node.disconnect(true);
      });
    await Promise.all(nodes.filter(({ status }) => status === 'ready').map(ask));
  }

  /** Reconnects, if it is connected. */
  renew(): void {
    const client = this.#client;
    if (this.isReady) client?.disconnect(true);
  }

  /** Runs `listener` now if the connection is up, and whenever it has come up again. */
  onReady(listener: (client: Redis | Cluster) => void): void {
    const client = this.#opened();
    client.on('ready', () => listener(client));
    if (this.isReady) listener(client);
  }

  /** Runs `listener` when the server says that it is no longer a master. Other connections may not notice. */
  onDemoted(listener: () => void): void {
    this.#demoted.add(listener);
  }

  /**
   * Waits until the client takes commands, and returns it.
   *
   * @param patient whether to wait even if only a change of configuration would help
   * @throws ConnectionError after `timeout` milliseconds, or if it was closed
   */
  async ready(timeout = Infinity, { patient = true } = {}): Promise<Redis | Cluster> {
    const client = this.#opened();
    if (!this.isReady) await this.#untilReady(client, timeout, patient);
    return client;
  }

  /**
   * A client for exactly the server that holds `key`: WAIT needs a single connection, which a cluster client is not.
   * If the key has moved, the server answers MOVED.
   *
   * @throws as `ready` · ConnectionError if no master is known for the key
   */
  async holder(key: string, timeout = Infinity): Promise<Redis> {
    const client = await this.ready(timeout);
    if (!(client instanceof Cluster)) return client;
    const master = masterOf(client, key);
    if (master) return master;
    throw new ConnectionError('The cluster is not complete', `no master is known for ${key}`);
  }

  /** Reloads a cluster's table of slots, after a MOVED or when no node answered. */
  async locate(): Promise<void> {
    if (this.#client instanceof Cluster && this.isReady) await refreshSlots(this.#client);
  }

  /**
   * Repeats a question, which must be idempotent, until there is an answer: through broken connections and replies that
   * say "not now".
   *
   * @throws ConnectionError after `timeout` milliseconds · at once an error that repetition can't fix
   */
  insist<T>(question: (client: Redis | Cluster) => Promise<T>, timeout = Infinity): Promise<T> {
    return retryWhileUnreachable(async (left) => question(await this.ready(left)), { timeout });
  }

  /**
   * As `insist`, for what a running job reads or writes: it also waits while the server refuses that, or its user lacks the right.
   *
   * @param onRefused called with each such refusal
   */
  insistForJob<T>(
    question: (client: Redis | Cluster) => Promise<T>,
    onRefused: (error: unknown) => void,
  ): Promise<T> {
    return retryWhileUnreachable(async (left) => question(await this.ready(left)), {
      timeout: Infinity,
      mayPass: (error) => isOutage(error) || isRefusedForNow(error),
      onFailure: (error) => {
        if (!isOutage(error)) onRefused(error);
      },
    });
  }

  /** Asks for a sign of life; connects first if needed. @throws ConnectionError in time, or at once if waiting can't help */
  async reach(timeout: number): Promise<void> {
    await this.ready(timeout, { patient: false });
    await this.insist((redis) => redis.ping(), timeout);
  }

  close(): void {
    this.#closed = true;
    this.#client?.disconnect();
    // ioredis emits no 'end' for a connection that was waiting to reconnect.
    for (const giveUp of [...this.#waiting]) giveUp();
  }

  #opened(): Redis | Cluster {
    if (this.#closed) throw ConnectionError.closed();
    return (this.#client ??= withoutContext(() => this.#connected()));
  }

  #connected(): Redis | Cluster {
    const client = this.#make();
    // During an outage many callers wait for `ready`, which is not a leak.
    client.setMaxListeners(0);
    this.#attend(client);
    client.on('+node', (node: Redis) => this.#attend(node));
    client.on('error', (error: Error) => this.#line.failed(error));
    client.on('close', () => this.#lost(client));
    client.on('ready', () => this.#back(client));
    client.connect().catch((error: Error) => this.#line.failed(error));
    return client;
  }

  #attend(client: Redis | Cluster): void {
    client.on('ready', () => this.#since.set(client, performance.now()));
    if (client instanceof Cluster) return;
    this.#line.attend(client);
    // ioredis listens for one error per socket: a second one would be uncaught and end the process.
    client.on('connect', () => {
      client.stream.on('error', () => undefined);
      // It listens anew with each reply that has it reconnect, such as READONLY.
      client.stream.setMaxListeners(0);
    });
    const { reconnectOnError } = client.options;
    client.options.reconnectOnError = (error) => {
      const moves = reconnectOnError?.(error) ?? false;
      if (moves) this.#line.failed(error);
      if (moves) for (const tell of this.#demoted) tell();
      return moves;
    };
    client.on('error', (error: Error) => {
      // ioredis would continue in database 0.
      if (isWrongDatabase(error)) client.disconnect(true);
    });
  }

  #lost(client: Redis | Cluster): void {
    const wasIdle = this.#line.lost(client);
    if (this.#closed) return;
    if (wasIdle) this.#log?.idle();
    else this.#log?.lost(addressOf(client), this.#line.reason);
  }

  #back(client: Redis | Cluster): void {
    if (!this.isReady) return;
    this.#line.back();
    this.#log?.back(addressOf(client));
  }

  #untilReady(client: Redis | Cluster, timeout: number, patient: boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const done = (end: () => void) => {
        clearTimeout(timer);
        client.off('ready', onReady).off('end', onEnd).off('error', onError);
        this.#waiting.delete(onEnd);
        end();
      };
      const fail = (reason: unknown) =>
        done(() => reject(new ConnectionError(`Redis at ${addressOf(client)} is not reachable`, reason)));
      const onReady = () => done(resolve);
      const onEnd = () => fail(this.#line.reason ?? 'the connection was closed');
      const onError = (error: unknown) => {
        if (!patient && isHopeless(error)) fail(error);
      };
      const late = () => fail(this.#line.reason ?? `no connection within ${timeout} ms`);
      const timer = timeout === Infinity ? undefined : setTimeout(late, timeout);
      client.on('ready', onReady).on('end', onEnd).on('error', onError);
      this.#waiting.add(onEnd);
      if (client.status === 'end') onEnd();
      else onError(this.#line.reason);
    });
  }
}
