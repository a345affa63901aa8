import type { Cluster, Redis } from 'ioredis';
import { messageOf } from '../job/errors.js';
import { ConnectionError } from '../job/server-errors.js';
import type { ConnectionLog } from './outage-log.js';
import type { RedisConnection } from './redis-connection.js';
import { isReply, isTransientReply } from './redis-errors.js';
import { pauseAfter } from './retry.js';
import { repeat } from './rounds.js';

export interface ChannelListener {
  message(text: string): void;
  /** Messages may have been lost. */
  resync?(): void;
  /** Whether it expects no message soon: a dead connection may then be noticed later. */
  isPatient?(): boolean;
}

interface Channel {
  readonly listeners: Set<ChannelListener>;
  /** Resolves once Redis has acknowledged the subscription. */
  readonly subscribed: Promise<void>;
  readonly acknowledge: () => void;
  readonly refuse: (error: unknown) => void;
  /** Whether Redis has allowed it before. */
  wasAllowed: boolean;
}

interface Denial {
  readonly name: string;
  readonly error: unknown;
}

/** A connection that only subscribes sends no commands, so pings find out whether it is alive. */
const PING_MS = 1000;
/** If all listeners are patient, only one of this many pings is sent. */
const PATIENT_PINGS = 4;
/** How many denied channels one line names. */
const MAX_NAMED = 5;

/**
 * Shares one subscription per channel among all listeners, on one connection, and renews it after a reconnect, and once the
 * user has a right again that it had lost.
 */
export class ChannelHub {
  private readonly channels = new Map<string, Channel>();
  /** Channels that were allowed, and are denied now: each second they are asked for again. */
  private readonly denied = new Set<string>();
  private isAskingAgain = false;
  private attached = false;
  #endPings?: () => void;
  private pingsLeft = 0;
  private closed = false;

  /** @param log gets a line when an ACL denies channels */
  constructor(
    private readonly connection: RedisConnection,
    private readonly log?: ConnectionLog,
  ) {}

  /** Resolves with a function that unsubscribes once messages arrive; waits during an outage. @throws ConnectionError after `close` */
  async listen(name: string, listener: ChannelListener): Promise<() => void> {
    if (this.closed) throw closedError();
    this.attach();
    const channel = this.channels.get(name) ?? this.open(name);
    channel.listeners.add(listener);
    await channel.subscribed;
    return () => this.leave(name, channel, listener);
  }

  /** Whether the connection is down; a dead one is noticed within seconds. */
  get isDown(): boolean {
    return this.connection.isDown;
  }

  /** Why the connection is down. */
  get trouble(): unknown {
    return this.connection.trouble;
  }

  close(): void {
    this.closed = true;
    this.#endPings?.();
    for (const { refuse } of this.channels.values()) refuse(closedError());
    this.channels.clear();
    this.connection.close();
  }

  private open(name: string): Channel {
    let acknowledge = (): void => undefined;
    let refuse: (error: unknown) => void = () => undefined;
    const subscribed = new Promise<void>((resolve, reject) => {
      acknowledge = resolve;
      refuse = reject;
    });
    subscribed.catch(() => undefined);
    const channel: Channel = { listeners: new Set(), subscribed, acknowledge, refuse, wasAllowed: false };
    this.channels.set(name, channel);
    if (this.connection.isReady)
      void this.connection.ready().then((client) => this.subscribe(client, [name]));
    return channel;
  }

  private leave(name: string, channel: Channel, listener: ChannelListener): void {
    if (!channel.listeners.delete(listener) || channel.listeners.size > 0) return;
    if (this.channels.get(name) !== channel) return;
    this.channels.delete(name);
    this.denied.delete(name);
    if (!this.connection.isReady) return;
    this.connection
      .ready()
      .then((client) => client.unsubscribe(name))
      .catch(() => undefined);
  }

  private attach(): void {
    if (this.attached) return;
    this.attached = true;
    let connected = false;
    this.connection.onReady((client) => {
      if (!connected) client.on('message', (name: string, text: string) => this.deliver(name, text));
      const again = connected;
      connected = true;
      void this.subscribe(client, [...this.channels.keys()]).then(() => {
        if (again) this.resync();
      });
    });
    this.#endPings = repeat(PING_MS, () => {
      void this.ping();
      this.askAgain().catch(() => undefined);
    });
  }

  private async askAgain(): Promise<void> {
    const before = [...this.denied];
    if (before.length === 0 || this.isAskingAgain || !this.connection.isReady) return;
    this.isAskingAgain = true;
    try {
      await this.subscribe(await this.connection.ready(), before);
    } finally {
      this.isAskingAgain = false;
    }
    if (before.some((name) => this.channels.has(name) && !this.denied.has(name))) this.resync();
  }

  /** If no reply comes within the connection's limit, the socket is replaced. */
  private async ping(): Promise<void> {
    this.pingsLeft -= 1;
    if (this.channels.size === 0 || !this.connection.isReady || (this.pingsLeft > 0 && this.isPatient()))
      return;
    this.pingsLeft = PATIENT_PINGS;
    const client = await this.connection.ready();
    await client.ping().catch(() => undefined);
  }

  private isPatient(): boolean {
    return [...this.channels.values()].every(({ listeners }) =>
      [...listeners].every((listener) => listener.isPatient?.() ?? false),
    );
  }

  /** Resolves when each is acknowledged or denied. If the connection breaks, the next `ready` subscribes again. */
  private async subscribe(client: Redis | Cluster, names: readonly string[]): Promise<void> {
    const denials = await this.ask(client, names);
    const added = denials.filter((denial) => this.deny(denial));
    if (added.length > 0) this.log?.warn(denialLine(added));
  }

  private async ask(client: Redis | Cluster, names: readonly string[]): Promise<Denial[]> {
    const wanted = names.filter((name) => this.channels.has(name));
    if (wanted.length === 0) return [];
    try {
      await client.subscribe(...wanted);
    } catch (error) {
      return this.refused(client, wanted, error);
    }
    for (const name of wanted) this.allow(name);
    return [];
  }

  /** One channel that an ACL denies fails the whole command, so each is then asked for by itself. */
  private async refused(
    client: Redis | Cluster,
    names: readonly string[],
    error: unknown,
  ): Promise<Denial[]> {
    if (!isReply(error) || !this.connection.isReady) return [];
    if (isDenied(error)) {
      if (names.length === 1) return names.map((name) => ({ name, error }));
      return (await Promise.all(names.map((name) => this.ask(client, [name])))).flat();
    }
    if (isTransientReply(error)) {
      await pauseAfter(error);
      return this.ask(client, names);
    }
    this.connection.renew();
    return [];
  }

  private allow(name: string): void {
    const channel = this.channels.get(name);
    if (!channel) return;
    channel.wasAllowed = true;
    channel.acknowledge();
    this.denied.delete(name);
  }

  /**
   * Keeps the listeners of a channel that was allowed before, as in an outage. Another is forgotten, so that the next `listen` asks
   * again. Returns whether it was not denied already.
   */
  private deny({ name, error }: Denial): boolean {
    const channel = this.channels.get(name);
    if (!channel || this.denied.has(name)) return false;
    if (channel.wasAllowed) {
      this.denied.add(name);
    } else {
      this.channels.delete(name);
      channel.refuse(error);
    }
    return true;
  }

  private resync(): void {
    const listeners = new Set([...this.channels.values()].flatMap((channel) => [...channel.listeners]));
    for (const listener of listeners) listener.resync?.();
  }

  private deliver(name: string, text: string): void {
    const channel = this.channels.get(name);
    if (channel) for (const listener of Array.from(channel.listeners)) listener.message(text);
  }
}

function denialLine(denials: readonly Denial[]): string {
  const names = denials.slice(0, MAX_NAMED).map(({ name }) => `"${name}"`);
  const more = denials.length > MAX_NAMED ? ` and ${denials.length - MAX_NAMED} more` : '';
  return (
    `Redis denies the channel${denials.length > 1 ? 's' : ''} ${names.join(', ')}${more}, so no messages come there: ` +
    `${messageOf(denials[0]?.error)}. Allow SUBSCRIBE and these channels in the ACL of this user.`
  );
}

function isDenied(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOPERM');
}

function closedError(): ConnectionError {
  return ConnectionError.closed('No more messages');
}
