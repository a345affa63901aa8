import { withDeadline } from '../job/deadline.js';
import { WaitTimeoutError } from '../job/errors.js';
import { isFinal, type Job } from '../job/job.js';
import type { JobFeed } from './job-feed.js';

/** How somebody waits for a job of a function. */
export interface Wait {
  readonly fn: string;
  readonly feed: JobFeed;
  readonly seconds: number;
  readonly read: (id: string) => Promise<Job>;
  /** The job of which only its output is known. @throws UnreadablePayloadError */
  readonly replied: (id: string, output: string) => Job;
}

/**
 * Enqueues a job and waits until it has finished. Whatever finishes before its id is known is found among
 * the expected, or read once the feed is open.
 *
 * @throws WaitTimeoutError
 */
export function runUntilFinal(enqueue: () => Promise<string>, wait: Wait): Promise<Job> {
  return follow(wait, async () => {
    const { isListening } = wait.feed;
    const expected = wait.feed.expect();
    try {
      const id = await enqueue();
      const { finished } = expected;
      return { id, mayBeFinal: !isListening || finished.has(id), output: finished.get(id) };
    } finally {
      expected.dispose();
    }
  });
}

/** Waits until a job has finished, which it may have before. @throws WaitTimeoutError */
export function untilFinal(id: string, wait: Wait): Promise<Job> {
  return follow(wait, async () => ({ id, mayBeFinal: true }));
}

/**
 * The job that `start` tells of, when it has finished. The feed opens meanwhile: were it waited for, an
 * outage would outlast the deadlines. Every way out gives the feed back.
 */
async function follow(
  { fn, feed, seconds, read, replied }: Wait,
  start: () => Promise<{ id: string; mayBeFinal: boolean; output?: string | undefined }>,
): Promise<Job> {
  let unfollow = (): void => undefined;
  const opened = feed.open();
  opened.catch(() => undefined);
  try {
    const { id, mayBeFinal, output } = await start();
    if (output !== undefined) return replied(id, output);
    const final = new Promise<Job>((resolve, reject) => {
      const check = () =>
        void read(id).then((job) => {
          if (isFinal(job.status)) resolve(job);
        }, reject);
      const settle = (reply: string) => {
        // The message that it has finished follows, and tells nothing more.
        unfollow();
        try {
          resolve(replied(id, reply));
        } catch (error) {
          reject(error as Error);
        }
      };
      unfollow = feed.follow(id, { finished: check, resync: check, replied: settle });
      if (mayBeFinal) opened.then(check, reject);
    });
    return await withDeadline(final, seconds * 1000, () => new WaitTimeoutError(fn, id, seconds));
  } finally {
    unfollow();
    feed.release();
  }
}
