import type { Cluster, Redis } from 'ioredis';
import { withDeadline } from '../../job/deadline.js';
import { GearMonkeyError } from '../../job/errors.js';
import { ConnectionError, RefusedError } from '../../job/server-errors.js';
import type { RedisConnection } from '../../redis/redis-connection.js';
import { pauseAfter } from '../../redis/retry.js';
import type { KeysOf } from '../wire/protocol.js';
import { explainToClient, explainToOperator } from '../wire/rights.js';

/** How a question is asked. */
export interface QuestionOptions {
  /** While it returns true there is no timeout: asking a slow server again would only delay its answer. */
  readonly wanted?: (() => boolean) | undefined;
  /** Whether it needs an operator's rights, which are more than a client's. */
  readonly forOperators?: boolean;
}

/** Asks a Redis server for something that may be asked twice, so that a broken connection does no harm. */
export class RedisQuestions {
  constructor(
    private readonly commands: RedisConnection,
    private readonly keysOf: KeysOf,
    /** Milliseconds that a question may take. */
    private readonly timeout: number,
  ) {}

  /** @throws ConnectionError · RefusedError if a right is missing · what `question` throws */
  async ask<T>(
    fn: string,
    verb: string,
    question: (redis: Redis | Cluster) => Promise<T>,
    { wanted, forOperators = false }: QuestionOptions = {},
  ): Promise<T> {
    const what = `${verb} of "${fn}"`;
    const late = () => new ConnectionError(what, `no answer within ${this.timeout} ms`);
    for (;;) {
      try {
        const answer = this.commands.insist(question, this.timeout);
        return await (wanted ? answer : withDeadline(answer, this.timeout, late));
      } catch (error) {
        const mayPass = error instanceof ConnectionError && !this.commands.isClosed;
        if (!mayPass || !wanted?.()) throw await this.failure(fn, what, error, forOperators);
        await pauseAfter(error);
      }
    }
  }

  /** The error for a caller; names the rights that are missing. */
  async failure(fn: string, what: string, error: unknown, forOperators = false): Promise<GearMonkeyError> {
    if (error instanceof GearMonkeyError) return error;
    const explain = forOperators ? explainToOperator : explainToClient;
    const why = await explain(this.commands, error, fn, this.keysOf(fn));
    return why === error ? new ConnectionError(what, error) : new RefusedError(what, why);
  }
}
