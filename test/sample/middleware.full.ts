import { afterEach, describe, expect, it } from '@jest/globals';
import { useRedis } from '../support/use-redis.js';
import { SampleProcess, stopSamples } from './sample-process.js';

const SHOWN = `shipped, invoice 7 of acme
shipped, invoice 8 of globex
Job 3 of "ship" failed: Job 3 of "invoice" failed: There is no order 0
Jobs are enqueued for a tenant
acme: error 2
acme: success 2
globex: success 2
`;

afterEach(stopSamples);

describe('sample/12-middleware', () => {
  const redis = useRedis();

  it('moves the tenant from job to job and counts how runs ended, without a server', async () => {
    const sample = new SampleProcess(['12-middleware']);
    await expect(sample.result()).resolves.toEqual({ code: 0, output: SHOWN, errors: '' });
  });

  it('does the same on Redis', async () => {
    const sample = new SampleProcess(['12-middleware'], { REDIS_URL: redis.url });
    await expect(sample.result()).resolves.toEqual({ code: 0, output: SHOWN, errors: '' });
  });
});
