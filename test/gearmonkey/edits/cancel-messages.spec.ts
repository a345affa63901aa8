import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { RunningJob } from '../../../lib/worker/running-job.js';
import { gate } from '../../support/gate.js';
import { runWorker, stopWorkersAfterEach } from '../../support/run-worker.js';
import { useRedis } from '../../support/use-redis.js';
import { RedisActors } from '../redis-rig.js';

describe('A message on cancel:{FN}', () => {
  const server = useRedis();
  let actors: RedisActors[];

  beforeAll(() => {
    actors = [0, 1].map((db) => new RedisActors(`${server.url}/${db}`));
  });
  stopWorkersAfterEach();
  afterAll(() => actors.forEach((them) => them.close()));

  /** A job that runs, on a database, until `end` is opened or it is aborted. */
  async function running(fn: string, db: 0 | 1) {
    const [begun, end] = [gate<RunningJob>(), gate()];
    const { source, client } = { source: actors[db]!.source(), client: actors[db]!.client() };
    await runWorker(source, fn, async (_, job) => {
      begun.open(job);
      await Promise.race([
        end.passed,
        new Promise((_, abort) => job.signal.addEventListener('abort', abort)),
      ]);
      return `of ${db}`;
    });
    const handle = await client.run(fn, 'x');
    return { handle, end, job: await begun.passed };
  }

  /** All that was published before has been heard, and what it led to has been answered. */
  async function heard(db: 0 | 1, fn: string): Promise<void> {
    const { handle, end } = await running(fn, db);
    await handle.cancel();
    await expect(handle.result({ timeout: '20s' })).rejects.toMatchObject({ code: 'JOB_FAILED' });
    end.open();
  }

  it('that is forged stops no handler', async () => {
    const fn = server.fn();
    const { handle, end, job } = await running(fn, 0);
    const [member] = await server.redis.zrange(`lease:${fn}`, '0', '-1');
    for (const forged of [member, '', 'x', '1:', `${member}:1`, '\u0000']) {
      await server.redis.publish(`cancel:${fn}`, String(forged));
    }
    await heard(0, server.fn());
    expect(job.signal.aborted).toBe(false);
    end.open();
    await expect(handle.result({ timeout: '20s' })).resolves.toBe('of 0');
    await expect(handle.get()).resolves.toMatchObject({ attempts: 1 });
  });

  it('that is meant for another database stops no handler', async () => {
    const fn = server.fn();
    const here = await running(fn, 0);
    const there = await running(fn, 1);
    const member = `${here.handle.id}:${here.job.claim.token}`;
    await there.handle.cancel();
    await server.redis.publish(`cancel:${fn}`, member);
    await expect(there.handle.result({ timeout: '20s' })).rejects.toMatchObject({ code: 'JOB_FAILED' });
    await heard(0, server.fn());
    expect(here.job.signal.aborted).toBe(false);
    here.end.open();
    await expect(here.handle.result({ timeout: '20s' })).resolves.toBe('of 0');
  });

  it('that is true stops the handler with the reason that it was cancelled', async () => {
    const { handle, job } = await running(server.fn(), 0);
    const aborted = new Promise((resolve) => job.signal.addEventListener('abort', resolve));
    await expect(handle.cancel()).resolves.toBe(true);
    await aborted;
    expect(job.signal.reason).toMatchObject({ code: 'JOB_CANCELLED' });
  });
});
