import { afterEach, describe, expect, it } from '@jest/globals';
import { useRedis } from '../support/use-redis.js';
import { SampleProcess, stopSamples } from './sample-process.js';

const SHOWN = `5 of 5 jobs done. Monday: north 3, south 4, west 5
2 of 4 jobs done. job 5 of "{report}:count-region" did not succeed, and this job waited for it
3 of 4 jobs done. Wednesday: north 3, missing: south has no figures
`;

afterEach(stopSamples);

describe('sample/10-flow', () => {
  const redis = useRedis();

  it('writes a report once all its parts are there, without a server', async () => {
    const sample = new SampleProcess(['10-flow']);
    await expect(sample.result()).resolves.toEqual({ code: 0, output: SHOWN, errors: '' });
  });

  it('does the same on Redis', async () => {
    const sample = new SampleProcess(['10-flow'], { REDIS_URL: redis.url });
    await expect(sample.result()).resolves.toEqual({ code: 0, output: SHOWN, errors: '' });
  });
});
