import type { Claim } from '../../job/job-source.js';
import { readJobOptions } from '../wire/job-options.js';
import type { TakenJob } from '../wire/scripts.js';

/** Converts a script's claim to the worker's. */
export function toClaim(fn: string, { options, ...job }: TakenJob): Claim {
  return { fn, ...job, options: readJobOptions(options) };
}

/** Makes the parts of the claim "id:token" that are needed to release it. */
export function claimOf(fn: string, member: string): Claim {
  const end = member.lastIndexOf(':');
  const [id, token] = [member.slice(0, end), Number(member.slice(end + 1))];
  return { fn, id, token, input: new Uint8Array(), attempts: 1, stalls: 0, options: {} };
}
