import type { Clock } from '../../../job/clock.js';
import type { ChannelHub } from '../../../redis/channel-hub.js';
import type { RedisConnection } from '../../../redis/redis-connection.js';
import type { FunctionIndex } from '../wire/function-index.js';
import type { KeysOf } from '../wire/protocol.js';
import type { Now } from '../wire/scripts.js';
import type { EnqueuedKey } from './enqueued-key.js';
import type { RedisQuestions } from './redis-questions.js';

/** The server of a store, as the parts of features see it. */
export interface StoreServer {
  readonly commands: RedisConnection;
  readonly hub: ChannelHub;
  readonly questions: RedisQuestions;
  readonly keysOf: KeysOf;
  /** What `keysOf` puts before each function's name, and the key of the functions begins with. */
  readonly prefix: string | undefined;
  /** The key of all schedules' functions. */
  readonly scheduleIndex: string | undefined;
  /** That of a test. */
  readonly clock: Pick<Clock, 'now'> | undefined;
  /** The time for scripts: '' is the server's. */
  readonly now: () => Now;
  /** When jobs are created, in ms since 1970. */
  readonly created: () => number;
  /** Milliseconds that an enqueue may take. */
  readonly timeout: number;
  /** Gets messages for the operator. */
  readonly onProblem: ((message: string) => void) | undefined;
  /** Waits until replicas have what the key's server has. @throws NotDurableError with these ids */
  durable(fn: string, key: string, keys: readonly EnqueuedKey[]): Promise<void>;
  /** The functions that the server knows. */
  readonly index: FunctionIndex;
  /** Notes functions that this client uses. */
  note(functions: readonly string[]): void;
  readonly hooks: StoreHooks;
}

/** What the parts of features do for each other. */
export class StoreHooks {
  readonly #listeners: ((fn: string) => Promise<void>)[] = [];

  /** Does what follows from the end of a job that others wait for, or that belongs to a flow. */
  onAwaited(listener: (fn: string) => Promise<void>): void {
    this.#listeners.push(listener);
  }

  async awaitedEnded(fn: string): Promise<void> {
    for (const listener of this.#listeners) await listener(fn);
  }
}
