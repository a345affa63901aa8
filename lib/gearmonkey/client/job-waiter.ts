import type { Clock } from '../../job/clock.js';
import { withDeadline } from '../../job/deadline.js';
import { WaitTimeoutError } from '../../job/errors.js';
import { isFinal, type Job } from '../../job/job.js';
import type { JobFeed } from './job-feed.js';
import type { JobSight } from './job-sight.js';
import type { JobKey } from '../wire/protocol.js';

/** How a caller waits for a job of a function. */
export interface Wait {
  readonly fn: string;
  readonly feed: JobFeed;
  /** Milliseconds. */
  readonly timeout: number;
  /** @default the system's */
  readonly clock?: Clock | undefined;
  readonly sightOf: (job: JobKey) => JobSight;
  /** The job of which only its output is known. @throws UnreadablePayloadError */
  readonly replied: (id: string, output: string) => Job;
}

interface Awaited {
  readonly job: JobKey;
  readonly mayBeFinal: boolean;
  readonly output?: string | undefined;
}

/**
 * Enqueues a job and waits until it has finished. Whatever finishes before its id is known is found among
 * the expected, or read once the feed is open.
 *
 * @throws WaitTimeoutError, JobLostError
 */
export function runUntilFinal(enqueue: () => Promise<JobKey>, wait: Wait): Promise<Job> {
  return follow(wait, async () => {
    const { isListening } = wait.feed;
    const expected = wait.feed.expect();
    try {
      const job = await enqueue();
      const finished = expected.of(job.id);
      const reply = finished?.reply?.job.mark === job.mark ? finished?.reply : undefined;
      const mayBeFinal = !isListening || expected.hasGaps || finished !== undefined;
      return { job, mayBeFinal, output: reply?.output };
    } finally {
      expected.dispose();
    }
  });
}

/** Waits until a job has finished, which it may have before. @throws WaitTimeoutError, JobLostError */
export function untilFinal(job: JobKey, wait: Wait): Promise<Job> {
  return follow(wait, async () => ({ job, mayBeFinal: true }));
}

/**
 * The job that `start` tells of, when it has finished. The feed opens meanwhile: were it waited for, an
 * outage would outlast the deadlines. Every way out gives the feed back.
 */
async function follow(
  { fn, feed, timeout, clock, sightOf, replied }: Wait,
  start: () => Promise<Awaited>,
): Promise<Job> {
  let unfollow = (): void => undefined;
  let waits = true;
  const opened = feed.open();
  opened.catch(() => undefined);
  try {
    const { job, mayBeFinal, output } = await start();
    if (output !== undefined) return replied(job.id, output);
    const sight = sightOf(job);
    const final = new Promise<Job>((resolve, reject) => {
      const check = () =>
        void sight
          .read(() => waits)
          .then((found) => {
            if (isFinal(found.status)) resolve(found);
          }, reject);
      const settle = (reply: string, mark: number | undefined) => {
        if (!sight.isOf(mark)) return;
        // The message that it has finished follows, and tells nothing more.
        unfollow();
        try {
          resolve(replied(job.id, reply));
        } catch (error) {
          reject(error as Error);
        }
      };
      unfollow = feed.follow(job.id, { finished: check, resync: check, replied: settle, fail: reject });
      if (mayBeFinal) opened.then(check, reject);
    });
    return await withDeadline(final, timeout, () => new WaitTimeoutError(fn, job.id, timeout), clock);
  } finally {
    waits = false;
    unfollow();
    feed.release();
  }
}
