import type { Claim, Outcome } from '../../job/job-source.js';
import { memberOf } from '../../redis/lease-keeper.js';
import { isReply } from '../../redis/redis-errors.js';
import { isOutage } from '../../redis/retry.js';
import type { OutcomeArguments } from '../wire/scripts.js';
import { encodeOutcome } from './outcome-arguments.js';

/** Outcomes that one call takes at most. */
const MAX_OUTCOMES = 500;
/** Beyond this many characters or bytes a call takes no more: a slow line has to carry it in time. */
const MAX_SIZE = 1024 * 1024;

/** Outcomes that were handed over together: they may go with several calls. */
interface Settlement {
  left: number;
  readonly refused: Claim[];
  readonly resolve: (refused: Claim[]) => void;
  readonly reject: (error: unknown) => void;
}

/** An outcome as it is sent. */
export interface Pending {
  readonly claim: Claim;
  readonly encoded: OutcomeArguments;
  readonly settlement: Settlement;
}

/** One function's outcomes that are yet to be taken, in batches that a call can carry. */
export class Outbox {
  private waiting: Pending[] = [];
  /** Fewer after a try that failed, so that even a line that breaks again and again gets some through. */
  private most = MAX_OUTCOMES;

  /** @param replies prefix of reply channels */
  constructor(private readonly replies: string) {}

  get size(): number {
    return this.waiting.length;
  }

  /** Resolves with the claims that were refused, once all have been answered. */
  add(outcomes: readonly Outcome[]): Promise<Claim[]> {
    return new Promise((resolve, reject) => {
      const settlement: Settlement = { left: outcomes.length, refused: [], resolve, reject };
      for (const outcome of outcomes) {
        const encoded = encodeOutcome(outcome, this.replies);
        this.waiting.push({ claim: outcome.claim, encoded, settlement });
      }
    });
  }

  /** Up to `count` of them, and one at least if there is any and `count` is not 0. */
  take(count: number): Pending[] {
    const most = Math.min(count, this.most, this.waiting.length);
    let taken = 0;
    for (let size = 0; taken < most; taken += 1) {
      size += sizeOf(this.waiting[taken] as Pending);
      if (taken > 0 && size > MAX_SIZE) break;
    }
    return this.waiting.splice(0, taken);
  }

  /** They are sent again, fewer at a time; one that was alone lets the others go first. */
  putBack(batch: readonly Pending[]): void {
    if (batch.length === 0) return;
    if (batch.length === 1) this.waiting.push(...batch);
    else this.waiting.unshift(...batch);
    this.most = Math.max(1, Math.floor(batch.length / 2));
  }

  /** The server has answered. @param refused "id:token" of each that it did not accept */
  answered(batch: readonly Pending[], refused: readonly string[]): void {
    if (batch.length > 0) this.most = Math.min(MAX_OUTCOMES, 2 * this.most);
    const gone = new Set(refused);
    for (const { claim, settlement } of batch) {
      if (gone.size > 0 && gone.has(memberOf(claim))) settlement.refused.push(claim);
      settlement.left -= 1;
      if (settlement.left === 0) settlement.resolve(settlement.refused);
    }
  }

  reject(batch: readonly Pending[], error: unknown): void {
    for (const { settlement } of batch) settlement.reject(error);
  }
}

function sizeOf({ encoded }: Pending): number {
  return encoded.reduce((size, { length }) => size + length, 0);
}

/** Whether the server would take others: neither an outage nor what it refuses to everybody for now. */
export function isOutcomesFault(error: unknown): boolean {
  return isReply(error) ? error instanceof Error && error.message.startsWith('ERR') : !isOutage(error);
}
