import { afterEach, describe, expect, it } from '@jest/globals';
import { freePort } from '../support/free-port.js';
import { eventually } from '../support/until.js';
import { useRedis } from '../support/use-redis.js';
import { SampleProcess, stopSamples } from './sample-process.js';

const SAID = `sent to ada@example.com, attempt 1
sent to flaky@example.com, attempt 2
failed for good: no-address is no address
`;

afterEach(stopSamples);

describe('sample/04-jq', () => {
  const redis = useRedis();
  const start = (role: string[], port: number) =>
    new SampleProcess(['04-jq', ...role], { REDIS_URL: redis.url, PORT: String(port) });

  it('pushes and works in one process, and ends', async () => {
    const sample = start([], await freePort());
    await expect(sample.result()).resolves.toEqual({ code: 0, output: SAID, errors: '' });
    await expect(redis.redis.zcard('{jq}:workers')).resolves.toBe(0);
  });

  it('pushes and works in two processes started in any order; each ends at SIGTERM', async () => {
    const port = await freePort();
    const pusher = start(['pusher'], port);
    const worker = start(['worker'], port);
    const master = start(['master'], port);
    await expect(pusher.result()).resolves.toEqual({ code: 0, output: SAID, errors: '' });
    await worker.stop();
    await eventually(async () => expect(await redis.redis.zcard('{jq}:workers')).toBe(0));
    await master.stop();
  });

  it('says in one line what is missing if Redis does not answer', async () => {
    const sample = new SampleProcess(['04-jq'], {
      REDIS_URL: `redis://127.0.0.1:${await freePort()}`,
      PORT: String(await freePort()),
    });
    await expect(sample.result()).resolves.toEqual({
      code: 2,
      output: '',
      errors: 'The master keeps its state in Redis, which does not answer: set REDIS_URL.\n',
    });
  });
});
