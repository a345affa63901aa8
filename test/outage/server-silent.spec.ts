import { describe, expect, it } from '@jest/globals';
import { EnqueueTimeoutError } from '../../lib/index.js';
import { eventually, until } from '../support/until.js';
import { HELD, figure, statuses, timeToRun, useOutage, work } from './outage-rig.js';

const PAUSE_MS = 3000;

describe('a server that is paused for 3 s', () => {
  const outage = useOutage();

  it.each(['CLIENT PAUSE', 'SIGSTOP'])('accepts every enqueue within its deadline, once: %s', async (how) => {
    const worker = await outage.actor();
    await worker.client.call(work, 'before', { timeout: '30s' });
    const held = await worker.client.call(work, HELD, { timeout: 10 }).catch(() => undefined);
    expect(held).toBeUndefined();
    await eventually(() => expect(worker.runs).toHaveLength(2));

    if (how === 'SIGSTOP') await outage.server.kill('SIGSTOP');
    else await outage.redis.client('PAUSE', PAUSE_MS, 'ALL');
    const since = performance.now();
    const timer = setTimeout(() => void outage.server.kill('SIGCONT'), PAUSE_MS);
    const jobs = await Promise.all(['a', 'b', 'c'].map((input) => worker.client.run(work, input)));
    clearTimeout(timer);
    worker.letGo();
    figure(`${how} 3 s: enqueue acknowledged`, performance.now() - since);
    await expect(Promise.all(jobs.map((job) => job.result({ timeout: '30s' })))).resolves.toEqual([
      'a, done',
      'b, done',
      'c, done',
    ]);
    figure(`${how} 3 s: worker resumes`, performance.now() - since - PAUSE_MS);
    await eventually(async () => expect((await statuses(outage.redis))['success']).toBe(5));
    expect(worker.repeated).toEqual([]);
    expect(worker.runs).toHaveLength(5);
    await until(() => worker.health.connected);
  });

  it('is reported as not connected', async () => {
    const worker = await outage.actor();
    await worker.client.call(work, 'before', { timeout: '30s' });
    await outage.server.kill('SIGSTOP');
    const since = performance.now();
    await until(() => !worker.health.connected);
    figure('SIGSTOP: health says not connected', performance.now() - since);
    await outage.server.kill('SIGCONT');
    figure('SIGSTOP: worker resumes', await timeToRun(outage.redis));
    await until(() => worker.health.connected);
  });

  it('creates no job for an enqueue that timed out before it reached the server', async () => {
    const worker = await outage.actor({ enqueueTimeout: 500 });
    await outage.server.kill();
    await until(() => !worker.health.connected);
    await expect(worker.client.run(work, 'x')).rejects.toThrow(EnqueueTimeoutError);
    await outage.server.restart();
    await timeToRun(outage.redis);
    await expect(statuses(outage.redis)).resolves.toEqual({ success: 1 });
  });
});
