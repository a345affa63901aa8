import { isUtf8 } from 'node:buffer';
import { Batcher } from '../../batching/batcher.js';
import type { Payload } from '../../job/codec.js';
import { messageOf, type JobErrorInfo } from '../../job/errors.js';
import { ConnectionError } from '../../job/server-errors.js';
import type { Outcome } from '../../job/job-source.js';
import { isRefusedForNow } from '../../redis/redis-errors.js';
import { isOutage, retryWhileUnreachable } from '../../redis/retry.js';
import type { RedisConnection } from '../../redis/redis-connection.js';
import { settleArguments, type Settlement } from '../wire/requests.js';
import * as scripts from '../wire/source-scripts.js';

const OUTCOMES_A_CALL = 100;
/** Calls under way at the same time; outcomes of the meantime share the next one. */
const MAX_CALLS = 2;

export interface SettlerOptions {
  readonly worker: string;
  readonly onProblem: (message: string) => void;
}

/** Writes outcomes, several in one call, and retries through outages and refusals that pass. */
export class Settler {
  private readonly outcomes = new Batcher<Outcome, boolean>({
    maxUnderWay: MAX_CALLS,
    take: ({ length }) => Math.min(length, OUTCOMES_A_CALL),
    // A call with too much work for the server replies for some outcomes only: the rest goes with the next.
    send: (outcomes) => this.take(outcomes),
  });
  private readonly closing = new AbortController();
  /** Whether the latest answer was a refusal, which is reported once. */
  private isRefused = false;

  constructor(
    private readonly commands: RedisConnection,
    private readonly prefix: string,
    private readonly options: SettlerOptions,
  ) {}

  /** Whether it was accepted. @throws ConnectionError after `close` */
  settle(outcome: Outcome): Promise<boolean> {
    return this.outcomes.add(outcome);
  }

  close(): void {
    this.closing.abort();
  }

  /** An outcome that was written, but whose reply was lost, is accepted again. */
  private take(outcomes: readonly Outcome[]): Promise<readonly boolean[]> {
    const rows = settleArguments(outcomes.map(toSettlement));
    const call = async () => {
      const redis = await this.commands.ready();
      const accepted = await scripts.settle.run(redis, [this.prefix], '', this.options.worker, rows);
      this.isRefused = false;
      return accepted;
    };
    return retryWhileUnreachable(call, {
      signal: this.closing.signal,
      mayPass: (error) => isOutage(error) || isRefusedForNow(error),
      onFailure: (error) => this.report(error),
      late: (error) => new ConnectionError('The outcome was not written', error),
    });
  }

  private report(error: unknown): void {
    if (isOutage(error) || this.isRefused) return;
    this.isRefused = true;
    this.options.onProblem(`Outcomes of jobs wait: ${messageOf(error)}`);
  }
}

function toSettlement(outcome: Outcome): Settlement {
  const { id: jid, fn, token } = outcome.claim;
  switch (outcome.status) {
    case 'success':
      return { kind: 'complete', jid, token, output: outputText(outcome.output) };
    case 'error':
      return { kind: 'fail', jid, token, ...failureOf(fn, outcome.error) };
    case 'retry':
      return { kind: 'retry', jid, token, delay: outcome.delay / 1000, ...failureOf(fn, outcome.error) };
    // This source lacks the capabilities `snooze` and `limits`.
    case 'snoozed':
    case 'held':
    case 'released':
      return { kind: 'release', jid, token };
  }
}

/** The group is named as the Ruby client names it. */
function failureOf(klass: string, { name, message, stack }: JobErrorInfo) {
  return { group: `${klass}:${name}`, message: stack === undefined ? message : `${message}\n\n${stack}` };
}

/** The output as the history keeps it: '' if it is empty or not text, since qless has only JSON. */
function outputText(output: Payload): string {
  if (typeof output !== 'string' && !isUtf8(output)) return '';
  const text = typeof output === 'string' ? output : Buffer.from(output).toString();
  return text === 'null' ? '' : text;
}
