import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { openConnections } from '../../lib/gearmonkey/redis-connections.js';
import { Carrier } from '../../lib/import/carry.js';
import type { PlannedJob } from '../../lib/import/found-job.js';
import { useRedis } from '../support/use-redis.js';
import { createdJobs } from './import-in-process.js';

describe('the carrier of an import', () => {
  const used = useRedis();
  let connections: ReturnType<typeof openConnections> | undefined;
  beforeAll(() => void (connections = openConnections(used.url)));
  afterAll(() => {
    connections?.commands.close();
    connections?.hub.close();
    connections?.close();
  });
  beforeEach(() => used.redis.flushall());

  function carrier(): Carrier {
    const { commands, keysOf } = connections as ReturnType<typeof openConnections>;
    return new Carrier(commands, keysOf, 10_000);
  }

  const job = (id: string, key?: string): PlannedJob => ({
    ...{ id, fn: 'mail', queue: 'normal', input: JSON.stringify(id), options: '' },
    ...(key !== undefined && { key }),
  });
  const inputs = async () => (await createdJobs(used.redis)).map(({ input }) => input);

  it('keeps the order of jobs with and without unique keys', async () => {
    const ids = ['a', 'b', 'c', 'd', 'e'];
    const jobs = ids.map((id, n) => job(id, n % 2 ? id : undefined));
    await carrier().carry({ name: 'name', number: 1, jobs });
    await expect(inputs()).resolves.toEqual(ids);
  });

  it('creates no job again whose step another import has ended long since', async () => {
    const [first, second] = [carrier(), carrier()];
    const step = { name: 'name', number: 1, jobs: [job('a', 'key')] };
    await first.carry(step);
    // The next step was begun: its only job has a key that is taken.
    await used.redis.set('sender:mail:import:name:0', '2:1:5');
    await second.carry(step);
    await expect(inputs()).resolves.toEqual(['a']);
    await first.carry({ name: 'name', number: 2, jobs: [job('b', 'key')] });
    await expect(inputs()).resolves.toEqual(['a', 'b']);
  });
});
