import { afterEach, describe, expect, it } from '@jest/globals';
import { useRedis } from '../support/use-redis.js';
import { SampleProcess, stopSamples } from './sample-process.js';

const OUTPUT = `Next reminders: Monday 09:00, Monday 09:00, Monday 09:00
Ada, your report is due
Report 1 of sales, the first one
Report 2 of sales, since the one before
Report 3 of sales, since the one before
`;

afterEach(stopSamples);

/** A report may come before the reminder. */
const sorted = (text: string) => text.split('\n').toSorted();

async function ran(environment: Record<string, string> = {}): Promise<void> {
  const { code, output, errors } = await new SampleProcess(['06-recurring'], environment).result();
  expect({ code, output: sorted(output), errors }).toEqual({ code: 0, output: sorted(OUTPUT), errors: '' });
}

describe('sample/06-recurring', () => {
  const redis = useRedis();

  it('reports without a server', async () => {
    await ran();
  });

  it('reports over Redis, where its schedules stay', async () => {
    await ran({ REDIS_URL: redis.url });
    await expect(redis.redis.hkeys('schedules')).resolves.toEqual(
      expect.arrayContaining(['Reports.report', 'remind:Ada']),
    );
  });
});
