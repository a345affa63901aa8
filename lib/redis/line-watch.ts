import type { Cluster, Redis } from 'ioredis';
import { toCause } from '../job/cause.js';
import { isReply } from './redis-errors.js';
import { hasNoRoom, isCut } from './trouble.js';
import { SILENCE_MS } from './own-settings.js';

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

/** How long a reply may take after the wait that its command asked for. */
const WAIT_GRACE_MS = 500;

const LOOK_MS = 250;
/** After so many looks without a reply or a command that waits for one, a line is idle. */
const IDLE_LOOKS = 2;
/** Of real time, also when a test of the app has faked timers since. */
const { setInterval, clearInterval } = globalThis;

interface Command {
  readonly name?: string;
  readonly args: readonly unknown[];
}

/** A private field of ioredis: the commands that wait for a reply. */
interface Internals {
  readonly commandQueue: { peekFront(): { readonly command: Command } | undefined };
}

/**
 * Ends each socket whose next reply is overdue. Time is counted in looks, between which the process can read: while it
 * is busy or has no processor, it does not take its own silence for the server's. ioredis' own timer would.
 *
 * @returns whether the line is idle, or was when it broke: servers and proxies close such ones
 */
export function endWhenSilent(client: Redis): () => boolean {
  const internals = client as unknown as Internals;
  let idle = 0;
  client.options.socketTimeout = undefined;
  client.on('connect', () => {
    const { stream } = client;
    let looks = 0;
    idle = 0;
    const look = () => {
      const next = internals.commandQueue.peekFront()?.command;
      idle = next ? 0 : idle + 1;
      if (!next) looks = 0;
      else if (looks++ * LOOK_MS >= patience(next))
        stream.destroy(new Error(`no reply for ${patience(next)} ms`));
    };
    const timer = setInterval(look, LOOK_MS).unref();
    stream.on('data', () => (looks = idle = 0));
    stream.once('close', () => clearInterval(timer));
  });
  return () => idle >= IDLE_LOOKS;
}

/**
 * How long the reply to the next pending command may take. A large command takes long to send on a slow line, and a
 * BLPOP waits on purpose: neither means that the connection is dead.
 */
function patience(next: Command): number {
  const bytes = next.args.reduce<number>((sum, arg) => sum + sizeOf(arg), 0);
  return Math.max(SILENCE_MS, waitOf(next) + WAIT_GRACE_MS) + Math.ceil(bytes / SLOWEST_BYTES_PER_MS);
}

/** How long a blocking command asks the server to wait, in milliseconds. */
function waitOf({ name, args }: Command): number {
  return name === 'blpop' ? 1000 * (Number(args.at(-1)) || 0) : 0;
}

function sizeOf(arg: unknown): number {
  return typeof arg === 'string' || arg instanceof Uint8Array ? arg.length : 0;
}
