import { type Clock, withDeadline } from '../../../job/clock.js';
import { WaitTimeoutError } from '../../../job/errors.js';
import type { Job } from '../../../job/job.js';
import { isFinal } from '../../../job/job-state.js';
import type { ExpiryTimer, TrackedJob } from './tracked-job.js';
import type { JobFeed } from './job-feed.js';
import type { EnqueuedKey } from './job-store.js';
import type { JobKey } from '../wire/protocol.js';
import type { UnservedFunctions } from './unserved.js';

/** What is needed to wait for a job of a function. */
export interface Wait {
  readonly fn: string;
  readonly feed: JobFeed;
  /** Milliseconds. */
  readonly timeout: number;
  readonly unserved: UnservedFunctions;
  /** @default the system's */
  readonly clock?: Clock | undefined;
  readonly trackedOf: (job: JobKey) => TrackedJob;
  /** Makes a job of which only the output is known. @throws UnreadablePayloadError */
  readonly replied: (id: string, output: string) => Job;
}

/** The key of a job that was enqueued to be waited for. */
export interface AwaitedKey extends EnqueuedKey {
  /** Milliseconds after which it may expire, 0 if only the server knows; undefined if it doesn't, or waits for others. */
  readonly expiresIn?: number | undefined;
  /** It waits for others: when it expires becomes known once these have ended. */
  readonly isLater?: boolean;
}

interface Awaited {
  readonly job: JobKey & Pick<AwaitedKey, 'expiresIn' | 'isLater'>;
  readonly mayBeFinal: boolean;
  readonly output?: string | undefined;
}

/**
 * Enqueues a job and waits until it has finished. If it finishes before its id is known, the expectation has it, or it
 * is read once the feed is open.
 *
 * @throws WaitTimeoutError, JobLostError
 */
export function runUntilFinal(enqueue: () => Promise<AwaitedKey>, wait: Wait): Promise<Job> {
  return follow(wait, async () => {
    const { isListening } = wait.feed;
    const expected = wait.feed.expect();
    try {
      const job = await enqueue();
      const finished = expected.of(job.id);
      const reply = finished?.reply?.job.mark === job.mark ? finished?.reply : undefined;
      // A job that was there before may have finished before this call.
      const mayBeFinal =
        !job.created || job.isLater || !isListening || expected.hasGaps || finished !== undefined;
      return { job, mayBeFinal, output: reply?.output };
    } finally {
      expected.dispose();
    }
  });
}

/** Waits until a job has finished; it may have finished before. @throws WaitTimeoutError, JobLostError */
export function untilFinal(job: JobKey, wait: Wait): Promise<Job> {
  return follow(wait, async () => ({ job, mayBeFinal: true }));
}

/**
 * Waits for the job that `start` returns. The feed opens at the same time: if `start` waited for it, an outage would
 * last longer than the deadlines. The feed is released in any case.
 */
async function follow(
  { fn, feed, timeout, unserved, clock, trackedOf, replied }: Wait,
  start: () => Promise<Awaited>,
): Promise<Job> {
  let unfollow = (): void => undefined;
  let waits = true;
  let expiry: ExpiryTimer | undefined;
  let answered = (): void => undefined;
  const opened = feed.open();
  opened.catch(() => undefined);
  try {
    const { job, mayBeFinal, output } = await start();
    if (output !== undefined) return replied(job.id, output);
    answered = unserved.waits(fn, job);
    const tracked = trackedOf(job);
    // Most jobs don't expire, and need no timer.
    const endWhenExpired = (ms?: number) => (expiry ??= tracked.expiryTimer()).start(ms);
    if (job.expiresIn !== undefined) endWhenExpired(job.expiresIn);
    let { isLater = false } = job;
    // A job that a read shows as waiting may have been told on since.
    let starts = 0;
    const final = new Promise<Job>((resolve, reject) => {
      const check = () => {
        const known = starts;
        void tracked
          .read(() => waits)
          .then((found) => {
            isLater = found.waitsForJobs !== undefined;
            if (isFinal(found.state)) resolve(found);
            else if (found.times.expires && found.state !== 'running') endWhenExpired();
            else if (isLater && starts !== known) check();
          }, reject);
      };
      // One that was created just now, without others to wait for, needs no more than to finish.
      const starting = mayBeFinal && {
        started: () => {
          starts += 1;
          if (isLater) check();
        },
      };
      const settle = (reply: string, mark: number | undefined) => {
        if (!tracked.isOf(mark)) return;
        // The plain message that it has finished follows, and has no further information.
        unfollow();
        try {
          resolve(replied(job.id, reply));
        } catch (error) {
          reject(error as Error);
        }
      };
      unfollow = feed.follow(job.id, {
        ...starting,
        finished: check,
        resync: check,
        replied: settle,
        fail: reject,
      });
      if (mayBeFinal) opened.then(check, reject);
    });
    return await withDeadline(final, timeout, () => new WaitTimeoutError(fn, job.id, timeout), clock);
  } catch (error) {
    if (!(error instanceof WaitTimeoutError)) throw error;
    throw new WaitTimeoutError(fn, error.id, timeout, await unserved.reason(fn, error));
  } finally {
    waits = false;
    answered();
    expiry?.stop();
    unfollow();
    feed.release();
  }
}
