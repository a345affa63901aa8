import type { Cluster, Redis } from 'ioredis';
import { withDeadline } from '../../../job/clock.js';
import { GearMonkeyError } from '../../../job/errors.js';
import { ConnectionError, RefusedError } from '../../../job/server-errors.js';
import type { RedisConnection } from '../../../redis/redis-connection.js';
import { isReply, isTransientReply } from '../../../redis/redis-errors.js';
import { pauseAfter } from '../../../redis/retry.js';
import type { KeysOf } from '../wire/protocol.js';
import type { Explain } from '../wire/rights.js';

/** How a question is asked. */
export interface QuestionOptions {
  /** While it returns true there is no timeout: asking a slow server again would only delay its answer. */
  readonly wanted?: (() => boolean) | undefined;
  /** Who may ask it, if that is not each client. */
  readonly explain?: Explain | undefined;
}

/** Notes whether a question is asked again. What an earlier call did is then in no answer: its own may have been lost. */
export class Repeats {
  private times = 0;

  of<T>(question: (redis: Redis | Cluster) => Promise<T>): (redis: Redis | Cluster) => Promise<T> {
    return (redis) => {
      this.times += 1;
      return question(redis);
    };
  }

  get hasAny(): boolean {
    return this.times > 1;
  }
}

/** Asks a Redis server for something that may be asked twice, so that a broken connection does no harm. */
export class RedisQuestions {
  constructor(
    private readonly commands: RedisConnection,
    private readonly keysOf: KeysOf,
    /** Milliseconds that a question may take. */
    private readonly timeout: number,
    private readonly explain: Explain,
  ) {}

  get isClosed(): boolean {
    return this.commands.isClosed;
  }

  /** @throws ConnectionError · RefusedError if the server has no memory, or a right is missing · what `question` throws */
  ask<T>(
    fn: string,
    verb: string,
    question: (redis: Redis | Cluster) => Promise<T>,
    { wanted, explain }: QuestionOptions = {},
  ): Promise<T> {
    const what = `${verb} of "${fn}"`;
    const failure = (error: unknown) => this.failure(fn, what, error, explain);
    return this.repeat(what, question, failure, wanted);
  }

  /** Asks what concerns no function, or several. @param explain names the rights that are missing */
  askWith<T>(
    verb: string,
    question: (redis: Redis | Cluster) => Promise<T>,
    explain: (refusal: unknown) => Promise<unknown>,
  ): Promise<T> {
    return this.repeat(verb, question, (error) => failureOf(verb, error, explain));
  }

  private async repeat<T>(
    what: string,
    question: (redis: Redis | Cluster) => Promise<T>,
    failure: (error: unknown) => Promise<GearMonkeyError>,
    wanted?: () => boolean,
  ): Promise<T> {
    const late = () => new ConnectionError(what, `no answer within ${this.timeout} ms`);
    for (;;) {
      try {
        const answer = this.commands.insist(question, this.timeout);
        return await (wanted ? answer : withDeadline(answer, this.timeout, late));
      } catch (error) {
        const mayPass = error instanceof ConnectionError && !this.commands.isClosed;
        if (!mayPass || !wanted?.()) throw await failure(error);
        await pauseAfter(error);
      }
    }
  }

  /** The error for a caller; names the rights that are missing. */
  failure(
    fn: string,
    what: string,
    error: unknown,
    explain: Explain = this.explain,
  ): Promise<GearMonkeyError> {
    const { commands, keysOf } = this;
    return failureOf(what, error, (refusal) => explain(commands, refusal, fn, keysOf));
  }
}

async function failureOf(
  what: string,
  error: unknown,
  explain: (refusal: unknown) => Promise<unknown>,
): Promise<GearMonkeyError> {
  if (error instanceof GearMonkeyError) return error;
  const why = await explain(error);
  const isRefused = why !== error || (isReply(error) && !isTransientReply(error));
  return isRefused ? new RefusedError(what, why) : new ConnectionError(what, error);
}
