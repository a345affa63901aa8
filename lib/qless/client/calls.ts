import type { Cluster, Redis } from 'ioredis';
import { withDeadline } from '../../job/clock.js';
import { ConnectionError, RefusedError } from '../../job/server-errors.js';
import { isTransientReply } from '../../redis/redis-errors.js';
import { retryWhileUnreachable } from '../../redis/retry.js';
import type { Arguments, Script } from '../../redis/script.js';
import type { QlessConnections } from '../connection/connections.js';
import { explainToClient } from '../wire/rights.js';
import { toQlessError } from './errors.js';
import { timeInSeconds } from './options.js';

const CALL = 'A call of qless';

/** Seconds since 1970, or the server's clock. */
type Now = number | '';
type Call<Rest extends Arguments, Reply> = Script<readonly [now: Now, ...Rest], Reply>;

export interface CallOptions {
  /** Milliseconds that a call may take. */
  readonly timeout: number;
  /** What time it is. @default the server's clock */
  readonly clock?: (() => Date) | undefined;
}

/** Calls of a client: its clock, its deadline, and errors with a class. */
export class QlessCalls {
  // Private at run time too: jobs and queues hold this, and may be printed.
  readonly #connections: QlessConnections;

  constructor(
    connections: QlessConnections,
    private readonly options: CallOptions,
  ) {
    this.#connections = connections;
  }

  get connections(): QlessConnections {
    return this.#connections;
  }

  /** Sent again after a broken connection: only for what may be done twice. */
  sendRetrying<Rest extends Arguments, Reply>(script: Call<Rest, Reply>, ...args: Rest): Promise<Reply> {
    const { commands } = this.#connections;
    const reply = commands.insist((redis) => this.send(redis, script, args), this.options.timeout);
    return this.inTime(reply, script);
  }

  /** Sent once: a connection that breaks leaves open whether it was done. */
  sendOnce<Rest extends Arguments, Reply>(script: Call<Rest, Reply>, ...args: Rest): Promise<Reply> {
    return this.inTime(this.once(script, args), script);
  }

  private once<Rest extends Arguments, Reply>(script: Call<Rest, Reply>, args: Rest): Promise<Reply> {
    const { commands } = this.#connections;
    const { timeout } = this.options;
    const call = async (left: number) => this.send(await commands.ready(left), script, args);
    return retryWhileUnreachable(call, { timeout, mayPass: isTransientReply });
  }

  private send<Rest extends Arguments, Reply>(
    redis: Redis | Cluster,
    script: Call<Rest, Reply>,
    args: Rest,
  ): Promise<Reply> {
    const { clock } = this.options;
    const now = clock ? timeInSeconds('clock', clock()) : '';
    return script.run(redis, [this.#connections.prefix], now, ...args);
  }

  private async inTime<Reply>(reply: Promise<Reply>, script: { readonly text: string }): Promise<Reply> {
    const { timeout } = this.options;
    const late = () => new ConnectionError('qless did not answer', `not within ${timeout} ms`);
    try {
      return await withDeadline(reply, timeout, late);
    } catch (error) {
      const { commands, prefix } = this.#connections;
      const why = await explainToClient(commands, error, script, prefix);
      throw why === error ? toQlessError(CALL, error) : new RefusedError(CALL, why);
    }
  }
}
