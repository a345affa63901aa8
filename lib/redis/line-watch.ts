import type { Cluster, Redis } from 'ioredis';
import { toCause } from '../job/cause.js';
import { isReply } from './redis-errors.js';
import { endWhenSilent } from './silence.js';
import { hasNoRoom, isCut } from './trouble.js';

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
