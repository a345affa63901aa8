import type { Claim } from '../../job/job-source.js';
import type { JobRecord } from '../wire/replies.js';

/** A job that was popped; `token` is the time of the pop. */
export function toClaim(job: JobRecord, token: number): Claim {
  const input = Buffer.from(job.data);
  // Without retries left the server files it as failed.
  const isLast = job.remaining <= 0;
  return { fn: job.klass, id: job.jid, token, input, ...attemptsOf(job), isLast, options: {} };
}

/** A job that is locked for this worker but never reached it: it is released. */
export function orphan(jid: string, token: number): Claim {
  return { fn: '', id: jid, token, input: Buffer.alloc(0), attempts: 1, stalls: 0, options: {} };
}

/**
 * The attempts since the job was put, and how many of them lost their lock, as far as the history goes back.
 */
function attemptsOf({ retries, remaining, history }: JobRecord): { attempts: number; stalls: number } {
  const attempts = Math.max(1, retries - remaining + 1);
  const put = history.findLastIndex(({ what }) => what === 'put');
  const losses = history.slice(put + 1).filter(({ what }) => what === 'timed-out').length;
  return { attempts, stalls: Math.min(losses, attempts - 1) };
}
