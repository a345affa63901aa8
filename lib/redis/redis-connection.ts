import { withDeadline } from '../job/deadline.js';
import { Cluster, type Redis } from 'ioredis';
import { masterOf, refreshSlots } from './cluster-slots.js';
import { checkSpec, connect, type ConnectionSpec } from './connect.js';
import { ConnectionError } from '../job/server-errors.js';
import { retryWhileUnreachable } from './retry.js';

export { YIELD_MS } from './retry.js';

/** One connection of ours, opened when it is first needed and kept until `close`. */
export class RedisConnection {
  private client?: Redis | Cluster;
  private readonly waiting = new Set<() => void>();
  private lastError?: Error;
  private closed = false;
  /** When connections came up: the client's own, and on a cluster that to each of its nodes. */
  private readonly since = new WeakMap<Redis | Cluster, number>();
  private readonly make: () => Redis | Cluster;

  /**
   * @param spec where to, or how to make a client that is not connected yet
   * @throws ConfigurationError for a URL that is none, or a cluster without nodes
   */
  constructor(spec: ConnectionSpec | (() => Redis | Cluster), role: string) {
    if (typeof spec !== 'function') checkSpec(spec);
    this.make = typeof spec === 'function' ? spec : () => connect(spec, role);
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

  /** Milliseconds since the connection came up; on a cluster, that to the master of `key`. */
  uptime(key: string): number {
    const { client } = this;
    const node = client instanceof Cluster ? masterOf(client, key) : client;
    if (!this.isReady || node?.status !== 'ready') return 0;
    return performance.now() - (this.since.get(node) ?? performance.now());
  }

  /** Connects if nothing has yet. */
  open(): void {
    if (!this.closed) this.opened();
  }

  /** Connects anew where a PING is not answered within `timeout` milliseconds. */
  async probe(timeout: number): Promise<void> {
    const { client } = this;
    if (!client || !this.isReady) return;
    const nodes = client instanceof Cluster ? client.nodes('master') : [client];
    const late = () => new ConnectionError('Redis did not answer', `not within ${timeout} ms`);
    const ask = (node: Redis) =>
      withDeadline(node.ping(), timeout, late).catch(() => {
        if (node.status === 'ready') node.disconnect(true);
      });
    await Promise.all(nodes.filter(({ status }) => status === 'ready').map(ask));
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
   * The client that leads to the server which holds `key`, and on a cluster to no other: one connection, as
   * WAIT wants it. Where the key has moved it answers MOVED.
   *
   * @throws as `ready` · ConnectionError when nobody is known to hold it
   */
  async holder(key: string, timeout = Infinity): Promise<Redis> {
    const client = await this.ready(timeout);
    if (!(client instanceof Cluster)) return client;
    const master = masterOf(client, key);
    if (master) return master;
    throw new ConnectionError('The cluster is not complete', `no master is known for ${key}`);
  }

  /** Asks a cluster anew who holds what: for whoever was told MOVED, or found nobody. */
  async locate(): Promise<void> {
    if (this.client instanceof Cluster && this.isReady) await refreshSlots(this.client);
  }

  /**
   * Asks until there is an answer, through broken connections and refusals for now: only for what may be
   * asked twice.
   *
   * @throws ConnectionError when there is none within `timeout` milliseconds · at once what no repetition helps
   */
  insist<T>(question: (client: Redis | Cluster) => Promise<T>, timeout = Infinity): Promise<T> {
    return retryWhileUnreachable(async (left) => question(await this.ready(left)), { timeout });
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
      this.client = this.make();
      // In an outage everybody waits for `ready`: that is no leak.
      this.client.setMaxListeners(0);
      this.remember(this.client);
      this.client.on('+node', (node: Redis) => this.remember(node));
      this.client.on('error', (error: Error) => (this.lastError = error));
      this.client.connect().catch((error: Error) => (this.lastError ??= error));
    }
    return this.client;
  }

  private remember(client: Redis | Cluster): void {
    client.on('ready', () => this.since.set(client, performance.now()));
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
