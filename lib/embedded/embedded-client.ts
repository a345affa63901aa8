import { EventEmitter } from 'node:events';
import { clearTimeout, setImmediate, setTimeout } from 'node:timers';
import { withoutContext } from '../job/without-context.js';
import type { EmbeddedServer, Subscriber } from './embedded-server.js';
import { COMMANDS } from './store/commands.js';
import { Status, type Reply } from './store/reply.js';

type Argument = string | number | Uint8Array;

/** Whether a text has characters that are not one byte each. */
const NOT_ASCII = /[\u0080-\uffff]/;

/** What is to be done when the event loop comes round: replies and messages, in their order. */
class Deliveries {
  private waiting: (() => void)[] = [];

  add(delivery: () => void): void {
    if (this.waiting.push(delivery) === 1) this.soon();
  }

  private deliver(): void {
    const { waiting } = this;
    this.waiting = [];
    for (const [index, delivery] of waiting.entries()) {
      try {
        delivery();
      } catch (error) {
        // Of a listener. The others have theirs still.
        this.waiting.unshift(...waiting.slice(index + 1));
        if (this.waiting.length > 0) this.soon();
        throw error;
      }
    }
  }

  /** In no context, as what comes from a socket. */
  private soon(): void {
    withoutContext(() => setImmediate(() => this.deliver()));
  }
}

const deliveries = new Deliveries();

/**
 * A connection to an embedded server, with the methods and events of ioredis that this package uses. Commands run at once and in
 * their order; replies come a turn of the event loop later, as from a socket, so that jobs that only wait for each other leave
 * room for timers.
 */
export class EmbeddedClient extends EventEmitter {
  status: 'wait' | 'ready' | 'end' = 'wait';
  readonly options: { host: string; reconnectOnError?: (error: Error) => boolean } = { host: 'memory' };
  private readonly channels = new Set<string>();
  /** Commands behind one that blocks, each with what ends it if the connection is closed before. */
  private behind: { run: () => void; refuse: (error: Error) => void }[] | undefined;
  private unblock: () => void = () => undefined;

  constructor(private readonly server: EmbeddedServer) {
    super();
  }

  async connect(): Promise<void> {
    deliveries.add(() => {
      if (this.status !== 'wait') return;
      this.status = 'ready';
      this.emit('ready');
    });
  }

  disconnect(): void {
    if (this.status === 'end') return;
    this.status = 'end';
    this.unblock();
    for (const channel of this.channels) this.server.unsubscribe(channel, this.hear);
    this.channels.clear();
    deliveries.add(() => {
      this.emit('close');
      this.emit('end');
    });
  }

  /** Sends a command. Texts of the reply are texts. */
  call(name: string, ...args: readonly (Argument | readonly Argument[])[]): Promise<unknown> {
    return this.send(name, args.flat() as Argument[], textOf);
  }

  /** The same with Buffers in place of texts. */
  callBuffer(name: string, args: readonly Argument[]): Promise<unknown> {
    return this.send(name, args, bufferOf);
  }

  async subscribe(...channels: readonly string[]): Promise<number> {
    for (const channel of channels) {
      this.channels.add(channel);
      this.server.subscribe(bytesOf(channel), this.hear);
    }
    await this.send('PING', [], textOf);
    return channels.length;
  }

  async unsubscribe(...channels: readonly string[]): Promise<number> {
    for (const channel of channels) {
      this.channels.delete(channel);
      this.server.unsubscribe(bytesOf(channel), this.hear);
    }
    return channels.length;
  }

  /** Waits until one of these lists has an item; the last argument is how long, in seconds. */
  blpop(...args: readonly (string | number)[]): Promise<[string, string] | null> {
    const keys = args.slice(0, -1).map((key) => bytesOf(key));
    return new Promise((resolve, reject) =>
      this.inOrder(() => this.block(keys, Number(args.at(-1)) * 1000, resolve), reject),
    );
  }

  multi(): EmbeddedTransaction {
    return new EmbeddedTransaction(this);
  }

  private readonly hear: Subscriber = (channel, message) => {
    deliveries.add(() => {
      if (this.channels.size > 0) this.emit('message', textOf(channel), textOf(message));
    });
  };

  private block(
    keys: readonly string[],
    wait: number,
    resolve: (popped: [string, string] | null) => void,
  ): void {
    const found = this.server.pop(keys);
    if (found) return deliveries.add(() => resolve(pairOf(found)));
    this.behind = [];
    const end = (popped: [string, string] | null) => {
      clearTimeout(timer);
      stop();
      this.unblock = () => undefined;
      const commands = this.behind ?? [];
      this.behind = undefined;
      deliveries.add(() => resolve(popped));
      for (const { run, refuse } of commands) this.inOrder(run, refuse);
    };
    const timer = setTimeout(() => end(null), wait === 0 ? 2 ** 31 - 1 : wait);
    const stop = this.server.wait({ keys, serve: (key, item) => end(pairOf([key, item])) });
    this.unblock = () => end(null);
  }

  private send(name: string, args: readonly Argument[], read: (reply: string) => unknown): Promise<unknown> {
    return new Promise((resolve, reject) =>
      this.inOrder(() => {
        try {
          const reply = this.server.run(name.toUpperCase(), args.map(bytesOf));
          deliveries.add(() => resolve(received(reply, read)));
        } catch (error) {
          deliveries.add(() => reject(error as Error));
        }
      }, reject),
    );
  }

  private inOrder(run: () => void, refuse: (error: Error) => void): void {
    if (this.status === 'end') refuse(new Error('Connection is closed.'));
    else if (this.behind) this.behind.push({ run, refuse });
    else run();
  }
}

/** Commands that are sent together. */
class EmbeddedTransaction {
  private readonly replies: Promise<unknown>[] = [];

  constructor(private readonly client: EmbeddedClient) {}

  lpush(...args: readonly Argument[]): this {
    return this.add('LPUSH', args);
  }

  expire(...args: readonly Argument[]): this {
    return this.add('EXPIRE', args);
  }

  async exec(): Promise<[error: Error | null, reply: unknown][]> {
    const settled = await Promise.allSettled(this.replies);
    return settled.map((one) =>
      one.status === 'fulfilled' ? [null, one.value] : [one.reason as Error, undefined],
    );
  }

  private add(name: string, args: readonly Argument[]): this {
    const reply = this.client.call(name, ...args);
    reply.catch(() => undefined);
    this.replies.push(reply);
    return this;
  }
}

function received(reply: Reply, read: (text: string) => unknown): unknown {
  if (typeof reply === 'string') return read(reply);
  if (typeof reply !== 'object' || reply === null) return reply;
  if (reply instanceof Status) return read(reply.text);
  return (reply as readonly Reply[]).map((item) => received(item, read));
}

function bytesOf(argument: Argument): string {
  if (typeof argument === 'string')
    return NOT_ASCII.test(argument) ? Buffer.from(argument, 'utf8').toString('latin1') : argument;
  if (typeof argument === 'number') return String(argument);
  return Buffer.from(argument.buffer, argument.byteOffset, argument.byteLength).toString('latin1');
}

function textOf(bytes: string): string {
  return NOT_ASCII.test(bytes) ? Buffer.from(bytes, 'latin1').toString('utf8') : bytes;
}

function bufferOf(bytes: string): Buffer {
  return Buffer.from(bytes, 'latin1');
}

function pairOf([key, item]: readonly [string, string]): [string, string] {
  return [textOf(key), textOf(item)];
}

/** Commands as methods, in both forms: `hget` and `hgetBuffer`. */
const METHODS = [...Object.keys(COMMANDS), 'PUBLISH', 'PUBSUB', 'EVAL', 'EVALSHA'];
for (const name of METHODS) {
  const read = name === 'HGETALL' ? pairsOf : (reply: unknown) => reply;
  const lower = name.toLowerCase();
  Object.assign(EmbeddedClient.prototype, {
    [lower]: async function (this: EmbeddedClient, ...args: Argument[]) {
      return read(await this.call(name, ...args.flatMap(flat)));
    },
    [`${lower}Buffer`]: async function (this: EmbeddedClient, ...args: Argument[]) {
      return read(await this.callBuffer(name, args.flat() as Argument[]));
    },
  });
}

/** Fields may be given as an object. */
function flat(argument: Argument | Readonly<Record<string, Argument>>): Argument[] {
  const isFields = typeof argument === 'object' && !Array.isArray(argument) && !ArrayBuffer.isView(argument);
  return isFields
    ? Object.entries(argument as Readonly<Record<string, Argument>>).flat()
    : [argument as Argument];
}

/** A hash as an object, as ioredis has it. */
function pairsOf(reply: unknown): Record<string, unknown> {
  const list = reply as unknown[];
  const hash: Record<string, unknown> = {};
  for (let i = 0; i < list.length; i += 2) hash[String(list[i])] = list[i + 1];
  return hash;
}
