import { describe, expect, it } from '@jest/globals';
import { TrackedJob } from '../../../lib/gearmonkey/core/client/tracked-job.js';
import type { JobFeed, JobFollower } from '../../../lib/gearmonkey/core/client/job-feed.js';
import { observeStream } from '../../../lib/gearmonkey/features/streams/observe-stream.js';
import { until } from '../../support/until.js';

/** Each of the moments in which the follower ends a page and begins to wait for the next message. */
const MOMENTS = Array.from({ length: 8 }, (_, index) => index + 1);

describe('A follower of a stream', () => {
  it.each(MOMENTS)('misses no entry that is told of %i microtasks after a page was read', async (moment) => {
    const entries = ['first'];
    const follower: JobFollower[] = [];
    const feed = {
      follow: (_: string, one: JobFollower) => (follower.push(one), () => undefined),
      open: () => Promise.resolve(),
      release: () => undefined,
      reads: { run: () => undefined },
    };
    const tracked = new TrackedJob(
      () => new Promise(() => undefined),
      { expire: () => undefined } as never,
      '1',
      1,
    );
    const seen: string[] = [];
    const told = async () => {
      for (let passed = 0; passed < moment; passed++) await Promise.resolve();
      entries.push('second');
      follower[0]?.streamed?.('output', 1);
    };
    const reading = {
      kind: 'output' as const,
      after: 0,
      read: (from: number) => {
        const page = entries.slice(from).map((entry) => Buffer.from(entry));
        const total = entries.length;
        if (from === 0 && total === 1) void told();
        return Promise.resolve({ entries: page, next: total, total });
      },
      decode: (entry: Uint8Array) => Buffer.from(entry).toString(),
    };
    const subscription = observeStream(
      () => feed as unknown as JobFeed,
      () => tracked,
      reading,
    ).subscribe((entry) => seen.push(entry));
    follower[0]?.streamed?.('output', 1);
    await until(() => seen.length === 2, { timeout: 2000 });
    expect(seen).toEqual(['first', 'second']);
    subscription.unsubscribe();
  });
});
