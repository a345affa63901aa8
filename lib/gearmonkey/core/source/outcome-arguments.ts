import { checkPayload } from '../../../job/codec.js';
import { toErrorInfo } from '../../../job/errors.js';
import type { Claim, Outcome } from '../../../job/job-source.js';
import { joinSignals } from '../../../job/signals.js';
import { memberOf } from '../../../redis/lease-keeper.js';
import type { OutcomeArguments } from '../wire/scripts.js';

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
