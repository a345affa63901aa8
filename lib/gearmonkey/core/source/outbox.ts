import type { Claim, Outcome } from '../../../job/job-source.js';
import { memberOf } from '../../../redis/lease-keeper.js';
import { isRefusedForNow, isReply } from '../../../redis/redis-errors.js';
import { isOutage } from '../../../redis/retry.js';
import type { OutcomeArguments } from '../wire/scripts.js';
import { checkPayload } from '../../../job/codec.js';
import { toErrorInfo } from '../../../job/errors.js';
import { joinSignals } from '../../../job/signals.js';

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
  return error instanceof Error && error.message.startsWith('ERR') && !isRefusedForNow(error);
}

/** How a claim ended, also one that was only made to find out the key of its job. */
export type SourceOutcome =
  Outcome | { readonly claim: Claim; readonly status: 'filed'; readonly key: string };

/** Longest output that is sent on a reply channel, in characters. */
const MAX_REPLY_LENGTH = 65_536;

/** The channel of the waiting client. Long or binary outputs are not sent: the client reads them from the job. */
function replyTo({ claim, output }: Extract<Outcome, { status: 'success' }>, replies: string): string {
  const { reply } = claim.options;
  const fits = reply !== undefined && typeof output === 'string' && output.length <= MAX_REPLY_LENGTH;
  return fits ? replies + reply : '';
}

/**
 * An outcome as the claim script takes it: encoded once, when it is handed over, so that one that can't be
 * is this job's error and holds up no other. `replies` is the prefix of reply channels.
 */
export function encodeOutcome(outcome: SourceOutcome, replies: string): OutcomeArguments {
  try {
    return toArguments(outcome, replies);
  } catch (error) {
    return toArguments({ claim: outcome.claim, status: 'error', error: toErrorInfo(error) }, replies);
  }
}

function toArguments(outcome: SourceOutcome, replies: string): OutcomeArguments {
  const member = memberOf(outcome.claim);
  switch (outcome.status) {
    case 'success':
      return [member, 'success', checkPayload(outcome.output), replyTo(outcome, replies)];
    case 'error':
      return [member, 'error', outcome.error.message, JSON.stringify(outcome.error)];
    case 'retry':
      return [member, 'retry', String(outcome.delay), JSON.stringify(outcome.error)];
    case 'snoozed':
      return [member, 'snoozed', String(outcome.delay), joinSignals(outcome.waitsFor ?? [])];
    case 'held':
      return [member, 'held', String(outcome.delay), ''];
    case 'filed':
      return [member, 'filed', outcome.key, ''];
    case 'released':
      return [member, 'released', '', ''];
  }
}
