import { checkPayload } from '../../job/codec.js';
import { toErrorInfo } from '../../job/errors.js';
import type { Claim, Outcome } from '../../job/job-source.js';
import { memberOf } from '../../redis/lease-keeper.js';
import { readJobOptions } from '../wire/job-options.js';
import type { OutcomeArguments, TakenJob } from '../wire/scripts.js';

/** Characters. */
const MAX_REPLY_LENGTH = 65_536;

/** A claim as the worker sees it. */
export function toClaim(fn: string, { id, token, attempts, stalls, options, input }: TakenJob): Claim {
  return { fn, id, token, attempts, stalls, options: readJobOptions(options), input };
}

/** The channel of who waits for the output, unless it is long or no text: then it is read from the job. */
function replyTo({ claim, output }: Extract<Outcome, { status: 'success' }>, replies: string): string {
  const { reply } = claim.options;
  const fits = reply !== undefined && typeof output === 'string' && output.length <= MAX_REPLY_LENGTH;
  return fits ? replies + reply : '';
}

/**
 * An outcome as the turn script takes it: encoded once, when it is handed over, so that one that can't be
 * is this job's error and holds up no other. `replies` is the prefix of reply channels.
 */
export function encodeOutcome(outcome: Outcome, replies: string): OutcomeArguments {
  try {
    return toArguments(outcome, replies);
  } catch (error) {
    return toArguments({ claim: outcome.claim, status: 'error', error: toErrorInfo(error) }, replies);
  }
}

function toArguments(outcome: Outcome, replies: string): OutcomeArguments {
  const member = memberOf(outcome.claim);
  switch (outcome.status) {
    case 'success':
      return [member, 'success', checkPayload(outcome.output), replyTo(outcome, replies)];
    case 'error':
      return [member, 'error', outcome.error.message, JSON.stringify(outcome.error)];
    case 'retry':
      return [member, 'retry', String(outcome.delay), JSON.stringify(outcome.error)];
    case 'released':
      return [member, 'released', '', ''];
  }
}

/** As much of the claim "id:token" as is needed to give it back. */
export function claimOf(fn: string, member: string): Claim {
  const end = member.lastIndexOf(':');
  const [id, token] = [member.slice(0, end), Number(member.slice(end + 1))];
  return { fn, id, token, input: new Uint8Array(), attempts: 1, stalls: 0, options: {} };
}
