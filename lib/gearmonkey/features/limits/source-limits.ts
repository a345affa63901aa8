import { toErrorInfo } from '../../../job/errors.js';
import type { Claim, SourceLimit } from '../../../job/job-source.js';
import type { RedisConnection } from '../../../redis/redis-connection.js';
import type { JobKeys } from '../../core/source/source-features.js';
import type { Call } from '../../../redis/rights.js';
import { limitedWorkerCalls } from './limit-rights.js';
import { rulesText } from './limit-rules.js';
import type { FunctionKeys, KeysOf } from '../../core/wire/protocol.js';
import { changeLimit } from './limit-scripts.js';
import type { SourceOutcome } from '../../core/source/outbox.js';

/** The limits of the functions that a worker runs. */
export class SourceLimits implements JobKeys {
  private readonly limits = new Map<string, SourceLimit>();

  constructor(
    private readonly connection: RedisConnection,
    private readonly keysOf: KeysOf,
  ) {}

  set(fn: string, limit: SourceLimit): void {
    this.limits.set(fn, limit);
  }

  has(fn: string): boolean {
    return this.limits.has(fn);
  }

  /** The calls that a worker needs for the function's limit. */
  rights(fn: string, k: FunctionKeys): Call[] {
    const limit = this.limits.get(fn);
    return limit ? limitedWorkerCalls(k, limit.rules.shared) : [];
  }

  forget(fn: string): void {
    this.limits.delete(fn);
  }

  /** Stores the rules: those of the worker that started last hold for all. @throws ConnectionError after `timeout` milliseconds */
  async store(functions: readonly string[], timeout?: number): Promise<void> {
    await Promise.all(functions.map((fn) => this.storeOne(fn, timeout)));
  }

  /** Gives jobs their keys that were enqueued without one. */
  file(fn: string, claims: readonly Claim[]): SourceOutcome[] {
    const limit = this.limits.get(fn);
    return claims.map((claim) => (limit ? filed(claim, limit) : { claim, status: 'released' }));
  }

  private async storeOne(fn: string, timeout?: number): Promise<void> {
    const { rules } = this.limits.get(fn) ?? {};
    if (!rules) return;
    const keys = this.keysOf(fn);
    const texts = rulesText(fn, rules, keys);
    await changeLimit((question) => this.connection.insist(question, timeout), keys, 'limit', ...texts);
  }
}

/** Gives a job its key. One whose key can't be made ends as an error. */
export function filed(claim: Claim, limit: SourceLimit): SourceOutcome {
  try {
    return { claim, status: 'filed', key: limit.keyOf(claim.input) };
  } catch (error) {
    return { claim, status: 'error', error: toErrorInfo(error) };
  }
}
