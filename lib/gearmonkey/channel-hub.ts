import type { Cluster, Redis } from 'ioredis';
import { ConnectionError } from '../job/errors.js';
import type { RedisConnection } from '../redis/redis-connection.js';
import type { JobListener } from './job-store.js';
import { keysOf, parseEvent, parseProgress } from './protocol.js';

interface Channel {
  readonly listeners: Set<JobListener>;
  /** Resolved once Redis has acknowledged the subscription. */
  subscribed: Promise<void>;
  acknowledge: () => void;
  fail: (error: Error) => void;
}

/** Shares one subscription per function among all listeners, on one connection, through reconnects. */
export class ChannelHub {
  private readonly channels = new Map<string, Channel>();
  private readonly functions = new Map<string, string>();
  private attached = false;
  private closed = false;

  constructor(private readonly connection: RedisConnection) {}

  /** Waits through an outage. @throws ConnectionError after `close` */
  async listen(fn: string, listener: JobListener): Promise<() => void> {
    if (this.closed) throw closedError();
    this.attach();
    let channel = this.channels.get(fn);
    if (!channel) {
      channel = this.open(fn);
    }
    channel.listeners.add(listener);
    await channel.subscribed;
    return () => this.leave(fn, listener);
  }

  /** Who still waits for a subscription is told; messages end with the connection. */
  close(): void {
    this.closed = true;
    for (const channel of this.channels.values()) channel.fail(closedError());
  }

  private open(fn: string): Channel {
    let [acknowledge, fail]: [() => void, Channel['fail']] = [() => undefined, () => undefined];
    const subscribed = new Promise<void>((resolve, reject) => ([acknowledge, fail] = [resolve, reject]));
    const channel: Channel = { listeners: new Set(), subscribed, acknowledge, fail };
    this.channels.set(fn, channel);
    for (const name of channelsOf(fn)) this.functions.set(name, fn);
    if (this.connection.isReady) void this.connection.ready().then((client) => this.subscribe(client, [fn]));
    return channel;
  }

  private leave(fn: string, listener: JobListener): void {
    const channel = this.channels.get(fn);
    if (!channel?.listeners.delete(listener) || channel.listeners.size > 0) return;
    this.channels.delete(fn);
    for (const name of channelsOf(fn)) this.functions.delete(name);
    if (!this.connection.isReady) return;
    this.connection
      .ready()
      .then((client) => client.unsubscribe(...channelsOf(fn)))
      .catch(() => undefined);
  }

  private attach(): void {
    if (this.attached) return;
    this.attached = true;
    let connected = false;
    this.connection.onReady((client) => {
      if (!connected) client.on('message', (name: string, message: string) => this.deliver(name, message));
      const again = connected;
      connected = true;
      void this.subscribe(client, [...this.channels.keys()]).then(() => {
        if (again) this.resync();
      });
    });
  }

  /** A failure means that the connection broke: the next `ready` subscribes again. */
  private async subscribe(client: Redis | Cluster, functions: readonly string[]): Promise<void> {
    if (functions.length === 0) return;
    try {
      await client.subscribe(...functions.flatMap(channelsOf));
      for (const fn of functions) this.channels.get(fn)?.acknowledge();
    } catch (error) {
      if (error instanceof ConnectionError) return;
    }
  }

  private resync(): void {
    for (const { listeners } of this.channels.values())
      for (const listener of [...listeners]) listener.resync();
  }

  private deliver(name: string, message: string): void {
    const fn = this.functions.get(name);
    const channel = fn === undefined ? undefined : this.channels.get(fn);
    if (fn === undefined || !channel) return;
    if (name === keysOf(fn).channel) {
      const event = parseEvent(message);
      if (event) for (const listener of [...channel.listeners]) listener.event({ ...event, fn });
    } else {
      const progress = parseProgress(message);
      if (progress) for (const listener of [...channel.listeners]) listener.progress({ ...progress, fn });
    }
  }
}

function closedError(): ConnectionError {
  return new ConnectionError('The connection is closed', 'the client was closed');
}

function channelsOf(fn: string): string[] {
  const { channel, progress } = keysOf(fn);
  return [channel, progress];
}
