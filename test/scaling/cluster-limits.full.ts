import { describe, expect, it } from '@jest/globals';
import { taggedKeysOf } from '../../lib/gearmonkey/core/wire/hash-tags.js';
import { defineLimit } from '../../lib/job/check-limit.js';
import { defineJob } from '../../lib/job/job-definition.js';
import { slotOf } from '../../lib/redis/cluster-slots.js';
import { runWorker, stopWorkersAfterEach } from '../support/run-worker.js';
import { useCluster } from './use-cluster.js';

describe('a shared limit on a cluster', () => {
  const used = useCluster();
  stopWorkersAfterEach();

  const apart = defineJob('ask', { limit: defineLimit('model', { concurrency: 1 }) });
  const refused = {
    code: 'CONFIGURATION',
    message: expect.stringMatching(
      /"model" and the function "ask" are in different slots .* the same hash tag: "\{media\}:ask" and "\{media\}:model"/,
    ),
  };

  it('in another slot than a function is refused before a job is created', async () => {
    expect(slotOf(taggedKeysOf('ask').control)).not.toBe(slotOf('shared-limit:model:'));
    const client = used.actors.client();
    await expect(client.run(apart, 'x')).rejects.toMatchObject(refused);
    await expect(client.runMany(apart, ['x', 'y'])).rejects.toMatchObject(refused);
    await expect(used.redis.exists(taggedKeysOf('ask').ids)).resolves.toBe(0);
    await expect(client.run('ask', 'x')).resolves.toMatchObject({ id: '1' });
  });

  it('in another slot than a function keeps its worker from starting', async () => {
    await expect(runWorker(used.actors.source(), apart, () => 1)).rejects.toMatchObject(refused);
    await expect(used.redis.exists(taggedKeysOf('ask').control)).resolves.toBe(0);
  });

  it('in the slot of its functions limits them together', async () => {
    const limit = defineLimit('{media}:model', { concurrency: 1 });
    const jobs = ['{media}:cut', '{media}:scale'].map((fn) => defineJob<number, number>(fn, { limit }));
    let [running, most] = [0, 0];
    for (const job of jobs)
      await runWorker(
        used.actors.source(),
        job,
        async (input) => {
          most = Math.max(most, ++running);
          await new Promise((resolve) => setImmediate(resolve));
          running -= 1;
          return input;
        },
        { concurrency: 3 },
      );
    const client = used.actors.client();
    const outputs = jobs.map((job) => client.runMany(job, [1, 2, 3, 4, 5]));
    for (const handles of await Promise.all(outputs))
      for (const handle of handles) await handle.result({ timeout: '60s' });
    expect(most).toBe(1);
  });
});
