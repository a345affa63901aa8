import type { Claim } from '../../../job/job-source.js';
import { memberOf } from '../../../redis/lease-keeper.js';
import { isRefusedWrite, isReply } from '../../../redis/redis-errors.js';
import { isOutage } from '../../../redis/retry.js';
import type { OutcomeArguments } from '../wire/scripts.js';
import { encodeOutcome, type SourceOutcome } from './outcome-arguments.js';

/** Most outcomes that one call takes. */
const MAX_OUTCOMES = 500;
/** Most characters or bytes of a call: a slow line has to carry it in time. */
const MAX_SIZE = 1024 * 1024;

/** Outcomes that were added together; they may be sent with several calls. */
interface Settlement {
  left: number;
  readonly refused: Claim[];
  readonly resolve: (refused: Claim[]) => void;
  readonly reject: (error: unknown) => void;
}

/** An outcome in the form that is sent. */
export interface Pending {
  readonly claim: Claim;
  readonly encoded: OutcomeArguments;
  readonly settlement: Settlement;
}

/** One function's unsent outcomes, which are taken in batches. */
export class Outbox {
  private waiting: Pending[] = [];
  /** Reduced after a failure, so that some outcomes arrive even on a line that breaks repeatedly. */
  private most = MAX_OUTCOMES;

  /** @param replies prefix of reply channels */
  constructor(private readonly replies: string) {}

  get size(): number {
    return this.waiting.length;
  }

  /** Adds outcomes; resolves with the refused claims once all have been answered. */
  add(outcomes: readonly SourceOutcome[]): Promise<Claim[]> {
    return new Promise((resolve, reject) => {
      const settlement: Settlement = { left: outcomes.length, refused: [], resolve, reject };
      for (const outcome of outcomes) {
        const encoded = encodeOutcome(outcome, this.replies);
        this.waiting.push({ claim: outcome.claim, encoded, settlement });
      }
    });
  }

  /** Takes up to `count` outcomes: at least one, unless there is none or `count` is 0. */
  take(count: number): Pending[] {
    const most = Math.min(count, this.most, this.waiting.length);
    let taken = 0;
    for (let size = 0; taken < most; taken += 1) {
      size += sizeOf(this.waiting[taken] as Pending);
      if (taken > 0 && size > MAX_SIZE) break;
    }
    return this.waiting.splice(0, taken);
  }

  /** Returns a batch that failed. It is sent again in smaller ones; an outcome that was alone goes to the end. */
  putBack(batch: readonly Pending[]): void {
    if (batch.length === 0) return;
    if (batch.length === 1) this.waiting.push(...batch);
    else this.waiting.unshift(...batch);
    this.most = Math.max(1, Math.floor(batch.length / 2));
  }

  /** Records the server's answer. @param refused "id:token" of each refused outcome */
  answered(batch: readonly Pending[], refused: readonly string[]): void {
    if (batch.length > 0) this.most = Math.min(MAX_OUTCOMES, 2 * this.most);
    const gone = refused.length > 0 ? new Set(refused) : undefined;
    for (const { claim, settlement } of batch) {
      if (gone?.has(memberOf(claim))) settlement.refused.push(claim);
      settlement.left -= 1;
      if (settlement.left === 0) settlement.resolve(settlement.refused);
    }
  }

  reject(batch: readonly Pending[], error: unknown): void {
    for (const { settlement } of batch) settlement.reject(error);
  }
}

function sizeOf({ encoded }: Pending): number {
  let size = 0;
  for (const { length } of encoded) size += length;
  return size;
}

/** Whether an error is due to these outcomes alone: no outage, and no refusal that affects all calls. */
export function isOutcomesFault(error: unknown): boolean {
  if (!isReply(error)) return !isOutage(error);
  return error instanceof Error && error.message.startsWith('ERR') && !isRefusedWrite(error);
}
