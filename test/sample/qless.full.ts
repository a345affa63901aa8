import { afterEach, describe, expect, it } from '@jest/globals';
import { useRedis } from '../support/use-redis.js';
import { SampleProcess, stopSamples } from './sample-process.js';

const SAID = `Writing alarms
Writing sales
Writing stock
complete: "sales, 5 letters"
complete: "stock, 5 letters"
failed: Report:Error
complete: "alarms, 6 letters"
`;

afterEach(stopSamples);

describe('sample/03-qless', () => {
  const redis = useRedis();

  it('takes the urgent job first, and leaves no worker behind', async () => {
    const sample = new SampleProcess(['03-qless'], { REDIS_URL: redis.url });
    await expect(sample.result()).resolves.toEqual({ code: 0, output: SAID, errors: '' });
    await expect(redis.redis.zcard('ql:workers')).resolves.toBe(0);
    await expect(redis.redis.zcard('ql:completed')).resolves.toBe(3);
  });
});
