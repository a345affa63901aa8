import { afterEach, describe, expect, it } from '@jest/globals';
import { useRedis } from '../support/use-redis.js';
import { SampleProcess, stopSamples } from './sample-process.js';

afterEach(stopSamples);

describe('sample/08-import', () => {
  const redis = useRedis();

  it('goes on where a killed worker stood, and counts the rows once', async () => {
    const sample = new SampleProcess(['08-import'], { REDIS_URL: redis.url });
    const { code, output, errors } = await sample.result();
    expect({ code, errors }).toEqual({ code: 0, errors: '' });
    const lines = output
      .trimEnd()
      .split('\n')
      .map((line) => line.replace(/\b(?!4000)\d+\b/g, 'N'));
    expect(lines).toEqual([
      'worker N has counted 4000 rows.',
      'worker N was killed in the middle.',
      'worker N goes on behind row N.',
      '4000 of 4000 rows are imported.',
      'N rows were saved twice: those of the second before the kill.',
    ]);
  });

  it('says that it needs Redis', async () => {
    const { code, errors } = await new SampleProcess(['08-import']).result();
    expect({ code, errors }).toEqual({
      code: 2,
      errors: 'This sample kills a worker, so the job has to be on a server: set REDIS_URL.\n',
    });
  });
});
