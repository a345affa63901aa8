import { afterEach, describe, expect, it } from '@jest/globals';
import { useRedis } from '../support/use-redis.js';
import { SampleProcess, stopSamples } from './sample-process.js';

const GREETINGS = `Hello, Ada!
Hello, Grace!
Hello, Barbara!
Job 4 ended with state failed: The name is empty
`;

afterEach(stopSamples);

describe('npm run sample', () => {
  it('lists the samples', async () => {
    const sample = new SampleProcess(['missing']);
    await expect(sample.result()).resolves.toMatchObject({
      code: 2,
      errors: expect.stringContaining(
        'Expected one of 01-hello, 02-progress-stream, 03-qless, 04-jq, 05-jobd, 06-recurring, 07-limits, 08-import, 09-tokens, 10-flow, 11-dashboard, 12-middleware, demo',
      ),
    });
  });
});

describe('sample/01-hello', () => {
  const redis = useRedis();

  it('greets without a server', async () => {
    const sample = new SampleProcess(['01-hello']);
    await expect(sample.result()).resolves.toEqual({ code: 0, output: GREETINGS, errors: '' });
  });

  it('greets over Redis, and signs off', async () => {
    const sample = new SampleProcess(['01-hello'], { REDIS_URL: redis.url });
    await expect(sample.result()).resolves.toEqual({ code: 0, output: GREETINGS, errors: '' });
    await expect(redis.redis.get('count:greet')).resolves.toBe('0');
    await expect(redis.redis.hget('job:greet:1', 'output')).resolves.toBe('"Hello, Ada!"');
  });
});
