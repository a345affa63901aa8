import { describe, expect, it } from '@jest/globals';
import { defineJob } from '../../lib/job/job-definition.js';
import { runWorker } from '../support/run-worker.js';
import { useGearMonkey } from './use-gearmonkey.js';

const KEYS = ['one', 'more', 'most'];

describe('The jobs of a function with a limit, on Redis', () => {
  const rig = useGearMonkey();
  const limitedJob = () => defineJob<string>(rig.fn(), { limit: { key: (input) => input, concurrency: 1 } });

  it('run by their priority', async () => {
    const job = limitedJob();
    const jobs = [];
    for (const priority of ['low', 'normal', 'high'] as const)
      jobs.push(await rig.client.run(job, 'a', { priority }));
    const ran: string[] = [];
    await runWorker(rig.source(), job, (_, { id }) => ran.push(id));
    for (const each of jobs) await each.result({ timeout: '20s' });
    expect(ran).toEqual(['3', '2', '1']);
  });

  it('are counted by key, those with most waiting jobs first', async () => {
    const job = limitedJob();
    const inputs = KEYS.flatMap((key, index) => Array<string>(index + 1).fill(key));
    await rig.client.runMany(job, inputs);
    const limits = await rig.client.limits(job);
    expect(limits.map(({ key, waiting }) => [key, waiting])).toEqual([
      ['most', 3],
      ['more', 2],
      ['one', 1],
    ]);
    await expect(rig.client.limits(job, { size: 1 })).resolves.toMatchObject([{ key: 'most' }]);
  });
});
