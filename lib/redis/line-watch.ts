import type { Cluster, Redis } from 'ioredis';
import { toCause } from '../job/cause.js';
import { isReply } from './redis-errors.js';
import { hasNoRoom, isCut } from './trouble.js';
import { SILENCE_MS } from './own-settings.js';
import { repeat, ROUND_MS } from './rounds.js';

/** Knows why there is no line to a server, and whether that is an outage. */
export class LineWatch {
  #reason: unknown;
  /** Whether it was up until now, so that the next close is the first. */
  #isUp = false;
  /** Whether a new line has had no reply yet. */
  #isGreeting = false;
  readonly #idle = new WeakMap<Redis | Cluster, () => boolean>();

  /** Why there is none, if known. */
  get reason(): unknown {
    return this.#reason;
  }

  /** Ends lines of a client on which replies are overdue, and reads how each new one is greeted. */
  attend(client: Redis): void {
    this.#idle.set(client, endWhenSilent(client));
    client.on('connect', () => {
      this.#isGreeting = true;
      client.stream.once('data', (data: Uint8Array) => this.#greeted(data));
    });
  }

  /** Records an error: a socket that is destroyed with one does not emit it. */
  failed(error: Error): void {
    const isVague = /^(Connection is closed|Stream isn't writeable)/.test(error.message);
    if (this.#reason !== undefined && (isVague || (this.#isGreeting && isCut(error)))) return;
    this.#reason = this.#isGreeting && isCut(error) ? unanswered(error.message) : toCause(error);
  }

  /** Records that a line has ended. Returns whether it was idle: servers and proxies close such ones, which is no outage. */
  lost(client: Redis | Cluster): boolean {
    const wasIdle = this.#isUp && this.#idle.get(client)?.() === true && !isReply(this.#reason);
    this.#isUp = false;
    const message = 'the server closed the connection';
    this.#reason ??= this.#isGreeting ? unanswered(message) : new Error(message);
    return wasIdle;
  }

  back(): void {
    this.#isUp = true;
    this.#reason = undefined;
  }

  /** The server may refuse before it is asked anything, and ends the line at once. */
  #greeted(data: Uint8Array): void {
    this.#isGreeting = false;
    if (hasNoRoom(data))
      this.#reason = new Error('the server has no room for another connection (maxclients)');
  }
}

function unanswered(message: string): Error {
  return new Error(
    `the server ends new connections without an answer, as it may if it has no room for more (maxclients): ${message}`,
  );
}

/** 1 Mbit/s: slower lines are not supported. */
const SLOWEST_BYTES_PER_MS = 128;

/** How long a reply may take at least, after the wait that its command asked for. */
const WAIT_GRACE_MS = 1000;

/** How far looks at an overdue reply are apart, and how many there are: between two, the process can read. */
const [LOOK_MS, LOOKS] = [250, 2];
/** After so long without a reply or a command that waits for one, a line is idle. */
const IDLE_MS = 500;
/** Of real time, also when a test of the app has faked timers since. */
const { setTimeout, clearTimeout, performance } = globalThis;

interface Command {
  readonly name?: string;
  readonly args: readonly unknown[];
}

/** A private field of ioredis: the commands that wait for a reply. */
interface Internals {
  readonly commandQueue: { peekFront(): { readonly command: Command } | undefined };
}

/**
 * Ends each socket whose next reply is overdue. ioredis' own timer would take the silence of a busy process for the server's.
 *
 * @returns whether the line was idle when it broke: servers and proxies close such ones
 */
export function endWhenSilent(client: Redis): () => boolean {
  const internals = client as unknown as Internals;
  const next = () => internals.commandQueue.peekFront()?.command;
  let replies: ReplyWatch | undefined;
  client.options.socketTimeout = undefined;
  client.on('connect', () => (replies = new ReplyWatch(client.stream, next)));
  const send = client.sendCommand;
  client.sendCommand = (command, stream) => {
    replies?.expect();
    return send.call(client, command, stream) as unknown;
  };
  return () => replies?.wasIdle ?? false;
}

/**
 * Ends a socket on which a reply is overdue. It is looked at once a second, and closer when the reply's time is nearly over:
 * while the process is busy or has no processor, it does not take its own silence for the server's.
 */
class ReplyWatch {
  readonly #endRounds: () => void;
  /** Set while it is looked at closer. */
  #closer?: NodeJS.Timeout;
  /** How many more looks there have to be before it is ended, if the server is not heard between them. */
  #looksLeft = LOOKS;
  /** When the server was last heard, or asked something while it owed no reply. */
  #active = performance.now();
  /** Whether nothing was awaited when the socket was closed. */
  wasIdle = false;

  constructor(
    private readonly stream: Redis['stream'],
    /** The command whose reply is awaited next. */
    private readonly next: () => Command | undefined,
  ) {
    stream.on('data', () => {
      this.#active = performance.now();
      this.#looksLeft = LOOKS;
    });
    // Before ioredis forgets what it waits for.
    stream.prependOnceListener('close', () => this.#closed());
    this.#endRounds = repeat(ROUND_MS, () => this.#look());
  }

  /** A command is about to be sent. */
  expect(): void {
    if (!this.next()) this.#active = performance.now();
  }

  #look(): void {
    const left = this.#timeLeft;
    if (!this.#closer && left < ROUND_MS) this.#lookIn(left - LOOKS * LOOK_MS);
  }

  #lookIn(ms: number): void {
    this.#closer = setTimeout(() => this.#lookCloser(), ms).unref();
  }

  #lookCloser(): void {
    this.#closer = undefined;
    const [left, command] = [this.#timeLeft, this.next()];
    if (!command || left >= ROUND_MS) return;
    if (left <= 0 && this.#looksLeft <= 0) return void this.stream.destroy(silence(command));
    this.#looksLeft -= 1;
    this.#lookIn(LOOK_MS);
  }

  /** Milliseconds that the reply which is awaited next still has; Infinity if none is. */
  get #timeLeft(): number {
    const command = this.next();
    return command ? this.#active + patience(command) - performance.now() : Infinity;
  }

  #closed(): void {
    this.#endRounds();
    clearTimeout(this.#closer);
    this.wasIdle = !this.next() && performance.now() - this.#active >= IDLE_MS;
  }
}

function silence(command: Command): Error {
  return new Error(`no reply for ${patience(command)} ms`);
}

/**
 * How long the reply to a command may take. A large command takes long to send on a slow line, and a BLPOP waits on purpose:
 * neither means that the connection is dead.
 */
function patience(command: Command): number {
  const bytes = command.args.reduce<number>((sum, arg) => sum + sizeOf(arg), 0);
  return Math.max(SILENCE_MS, waitOf(command) + WAIT_GRACE_MS) + Math.ceil(bytes / SLOWEST_BYTES_PER_MS);
}

/** How long a blocking command asks the server to wait, in milliseconds. */
function waitOf({ name, args }: Command): number {
  return name === 'blpop' ? 1000 * (Number(args.at(-1)) || 0) : 0;
}

function sizeOf(arg: unknown): number {
  return typeof arg === 'string' || arg instanceof Uint8Array ? Buffer.byteLength(arg) : 0;
}
