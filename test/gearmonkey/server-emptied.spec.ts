import { afterEach, describe, expect, it } from '@jest/globals';
import { defineJob } from '../../lib/job/job-definition.js';
import type { RunningJob } from '../../lib/worker/running-job.js';
import { runWorker, stopWorkers } from '../support/run-worker.js';
import { eventually, until } from '../support/until.js';
import { useGearMonkey } from './use-gearmonkey.js';

describe('A server', () => {
  const rig = useGearMonkey();
  afterEach(stopWorkers);

  it('that was emptied by FLUSHALL tells no caller, and runs new jobs by their limits', async () => {
    const job = defineJob<string, string>(rig.fn(), { limit: { key: (input) => input, concurrency: 1 } });
    const held: (() => void)[] = [];
    let most = 0;
    await runWorker(
      rig.source(),
      job,
      async (input) => {
        await new Promise<void>((resolve) => {
          most = Math.max(most, held.push(resolve));
        });
        return input;
      },
      { concurrency: 4 },
    );
    const release = async () => {
      await until(() => held.length === 1);
      held.splice(0).forEach((end) => end());
    };
    const client = rig.newClient();
    // While messages are heard, no call reads its job.
    const events = client.events(job.name).subscribe();
    const before = client.call(job, 'a');
    await release();
    await before;
    const calls = Array.from({ length: 3 }, () =>
      client.call(job, 'a', { timeout: '3s' }).catch((error: Error) => error),
    );
    await until(() => held.length === 1);
    await rig.redis.flushall();
    await release();
    for (const call of calls) await expect(call).resolves.toMatchObject({ code: 'WAIT_TIMEOUT' });

    const again = Array.from({ length: 3 }, () => client.call(job, 'b'));
    for (let ended = 0; ended < 3; ended++) await release();
    await expect(Promise.all(again)).resolves.toEqual(['b', 'b', 'b']);
    expect(most).toBe(1);
    events.unsubscribe();
  });

  it('that was emptied by FLUSHALL creates a job for a unique key again, and takes schedules again', async () => {
    const fn = rig.fn();
    const client = rig.newClient();
    await client.run(fn, 1, { unique: { key: 'a' } });
    await client.recur(fn, { id: fn, every: '1h' });
    await rig.redis.flushall();
    await expect(client.run(fn, 2, { unique: { key: 'a' } })).resolves.toMatchObject({ created: true });
    await expect(client.schedules.get(fn)).resolves.toBeNull();
    await client.recur(fn, { id: fn, every: '1h' });
    await expect(client.schedules.list(fn)).resolves.toHaveLength(1);
  });

  it('whose memory was full makes up for all ticks when there is memory again', async () => {
    const fn = rig.fn();
    const ran: RunningJob[] = [];
    await runWorker(rig.source(), fn, (_: unknown, job: RunningJob) => void ran.push(job));
    const client = rig.newClient();
    await client.recur(fn, { id: fn, every: '1s', limit: 4, catchUp: 'all' });
    await eventually(() => expect(ran).toHaveLength(1));
    await rig.redis.config('SET', 'maxmemory', '1');
    try {
      const refused = { code: 'REFUSED', message: expect.stringContaining('OOM') };
      await expect(client.schedules.update(fn, { limit: 5 })).rejects.toMatchObject(refused);
      await expect(client.recur(fn, { id: 'other', every: '1s' })).rejects.toMatchObject(refused);
      await until(() => Date.now() > Number(ran[0]?.recurring?.slot) + 2100, { timeout: 10_000 });
    } finally {
      await rig.redis.config('SET', 'maxmemory', '0');
    }
    await eventually(() => expect(ran).toHaveLength(4), { timeout: 30_000 });
    const slots = ran.map(({ recurring }) => Number(recurring?.slot));
    const [first = 0] = slots;
    expect(slots.toSorted()).toEqual([0, 1000, 2000, 3000].map((later) => first + later));
  });
});
