import { afterEach, describe, expect, it } from '@jest/globals';
import { useRedis } from '../support/use-redis.js';
import { SampleProcess, stopSamples } from './sample-process.js';

const SHOWN = `tiny has its 2 exports before half of those of acme.
acme: at most 2 exports at the same time.
tiny: at most 2 exports at the same time.
12 calls, 5 in half a second: a second.
LIMIT_FULL: ada has a film.
`;

afterEach(stopSamples);

describe('sample/07-limits', () => {
  const redis = useRedis();

  it('shows who is served when, without a server', async () => {
    const sample = new SampleProcess(['07-limits']);
    await expect(sample.result()).resolves.toEqual({ code: 0, output: SHOWN, errors: '' });
  });

  it('shows the same on Redis', async () => {
    const sample = new SampleProcess(['07-limits'], { REDIS_URL: redis.url });
    await expect(sample.result()).resolves.toEqual({ code: 0, output: SHOWN, errors: '' });
  });
});
