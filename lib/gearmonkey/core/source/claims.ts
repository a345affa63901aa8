import type { Claim } from '../../../job/job-source.js';
import { readJobOptions } from '../wire/job-options.js';
import type { TakenJob } from '../wire/scripts.js';

/** Converts a script's claim to the worker's. @param maxStalls how often a job may lose its worker */
export function toClaim(fn: string, job: TakenJob, maxStalls = Infinity): Claim {
  const { id, token, input, attempts, stalls, snoozes, waited } = job;
  const options = readJobOptions(job.options);
  const claim = { fn, id, token, input, attempts, stalls, snoozes, waited, options };
  return stalls > 0 && stalls >= maxStalls ? { ...claim, suspect: true } : claim;
}

/** Makes the parts of the claim "id:token" that are needed to release it. */
export function claimOf(fn: string, member: string): Claim {
  const end = member.lastIndexOf(':');
  const [id, token] = [member.slice(0, end), Number(member.slice(end + 1))];
  return { fn, id, token, input: new Uint8Array(), attempts: 1, stalls: 0, options: {} };
}
