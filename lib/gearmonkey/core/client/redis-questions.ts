import type { Cluster, Redis } from 'ioredis';
import { withDeadline } from '../../../job/deadline.js';
import { GearMonkeyError } from '../../../job/errors.js';
import { ConnectionError, RefusedError } from '../../../job/server-errors.js';
import type { RedisConnection } from '../../../redis/redis-connection.js';
import { isReply, isTransientReply } from '../../../redis/redis-errors.js';
import { pauseAfter } from '../../../redis/retry.js';
import { explainOfFlows } from '../../features/flows/flow-rights.js';
import type { KeysOf } from '../wire/protocol.js';
import { wireName } from '../wire/wire-names.js';
import { explainToScheduler } from '../../features/schedules/schedule-rights.js';
import { explainToClient, explainToOperator } from '../wire/rights.js';
import { explainToViewer } from '../../features/views/view-rights.js';

/** How a question is asked. */
export interface QuestionOptions {
  /** While it returns true there is no timeout: asking a slow server again would only delay its answer. */
  readonly wanted?: (() => boolean) | undefined;
  /** Whether it needs an operator's rights, which are more than a client's. */
  readonly forOperators?: boolean;
  /** Whether it needs the rights to list jobs. */
  readonly forViewers?: boolean;
  /** Whether it needs the rights of jobs that wait for others. */
  readonly forFlows?: boolean;
}

/** Asks a Redis server for something that may be asked twice, so that a broken connection does no harm. */
export class RedisQuestions {
  constructor(
    private readonly commands: RedisConnection,
    private readonly keysOf: KeysOf,
    /** Milliseconds that a question may take. */
    private readonly timeout: number,
  ) {}

  get isClosed(): boolean {
    return this.commands.isClosed;
  }

  /** @throws ConnectionError · RefusedError if the server has no memory, or a right is missing · what `question` throws */
  ask<T>(
    fn: string,
    verb: string,
    question: (redis: Redis | Cluster) => Promise<T>,
    { wanted, ...who }: QuestionOptions = {},
  ): Promise<T> {
    const what = `${verb} of "${fn}"`;
    const failure = (error: unknown) => this.failure(fn, what, error, who);
    return this.repeat(what, question, failure, wanted);
  }

  /** Asks about schedules: of a function, or of all. */
  askOfSchedules<T>(
    fn: string | undefined,
    verb: string,
    question: (redis: Redis | Cluster) => Promise<T>,
    index?: string,
  ): Promise<T> {
    const [user, keys] =
      fn === undefined ? ['a client of schedules'] : [`a client of schedules of "${fn}"`, this.keysOf(fn)];
    const explain = (error: unknown) => explainToScheduler(this.commands, error, { index, keys, user });
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
    { forOperators, forViewers, forFlows }: QuestionOptions = {},
  ): Promise<GearMonkeyError> {
    if (forFlows) {
      const name = wireName(this.keysOf, fn);
      return failureOf(what, error, (refusal) => explainOfFlows(this.commands, refusal, name));
    }
    if (forViewers) {
      const { commands, keysOf } = this;
      return failureOf(what, error, (refusal) => explainToViewer(commands, refusal, fn, keysOf));
    }
    const explain = forOperators ? explainToOperator : explainToClient;
    return failureOf(what, error, (refusal) => explain(this.commands, refusal, fn, this.keysOf(fn)));
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
