import type { Claim } from '../../job/job-source.js';
import { readJobOptions } from '../wire/job-options.js';
import type { TakenJob } from '../wire/scripts.js';

/** A claim as the worker sees it. */
export function toClaim(fn: string, { id, token, attempts, stalls, options, input }: TakenJob): Claim {
  return { fn, id, token, attempts, stalls, options: readJobOptions(options), input };
}

/** As much of the claim "id:token" as is needed to give it back. */
export function claimOf(fn: string, member: string): Claim {
  const end = member.lastIndexOf(':');
  const [id, token] = [member.slice(0, end), Number(member.slice(end + 1))];
  return { fn, id, token, input: new Uint8Array(), attempts: 1, stalls: 0, options: {} };
}
