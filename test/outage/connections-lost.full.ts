import { describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { eventually, until } from '../support/until.js';
import { HELD, figure, statuses, timeToRun, useOutage, work } from './outage-rig.js';

const JOBS = 300;

describe('connections that the server kills', () => {
  const outage = useOutage();

  it.each(['normal', 'pubsub'] as const)(
    'are restored, and no job is lost or run twice: TYPE %s',
    async (type) => {
      const worker = await outage.actor();
      const killer = outage.redis.duplicate();
      const calls: Promise<string>[] = [];
      for (let i = 0; i < JOBS; i++) {
        calls.push(worker.client.call(work, `job ${i}`, { timeout: '20s' }));
        if (i % 60 === 30) await killer.call('CLIENT', 'KILL', 'TYPE', type, 'SKIPME', 'yes');
        if (i % 20 === 0) await calls[i];
      }
      killer.disconnect();
      expect(new Set(await Promise.all(calls)).size).toBe(JOBS);
      await expect(statuses(outage.redis)).resolves.toEqual({ success: JOBS });
      expect(worker.repeated).toEqual([]);
    },
  );

  it('are made again quickly, including the blocking one and the keeper', async () => {
    const worker = await outage.actor();
    await worker.client.call(work, 'before', { timeout: '30s' });
    await until(() => areAllThere(outage.redis));
    await outage.redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await outage.redis.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
    figure('CLIENT KILL: worker resumes', await timeToRun(outage.redis));
    await until(() => areAllThere(outage.redis));
  });

  it('get the result of a job that ran meanwhile', async () => {
    const worker = await outage.actor();
    const job = await worker.client.run(work, HELD);
    await eventually(() => expect(worker.runs).toHaveLength(1));
    const result = job.result({ timeout: '20s' });
    await outage.redis.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await outage.redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    worker.letGo();
    await expect(result).resolves.toBe('held, done');
    expect(worker.runs).toEqual([job.id]);
  });
});

describe('scripts that the server forgets', () => {
  const outage = useOutage();

  it('are sent again, and no job is lost or run twice', async () => {
    const worker = await outage.actor();
    const calls: Promise<string>[] = [];
    for (let i = 0; i < JOBS; i++) {
      calls.push(worker.client.call(work, `job ${i}`, { timeout: '20s' }));
      if (i % 30 === 0) await outage.redis.script('FLUSH');
      if (i % 10 === 0) await calls[i];
    }
    expect(new Set(await Promise.all(calls)).size).toBe(JOBS);
    await expect(statuses(outage.redis)).resolves.toEqual({ success: JOBS });
    expect(worker.repeated).toEqual([]);
    await outage.redis.script('FLUSH');
    figure('SCRIPT FLUSH: a job runs', await timeToRun(outage.redis));
  });
});

/** The four connections of an app. */
async function areAllThere(redis: Redis): Promise<boolean> {
  const list = (await redis.client('LIST')) as string;
  return ['commands', 'blocking', 'subscriber', 'keeper'].every((role) =>
    list.includes(`name=nestjs-gearmonkey:${role} `),
  );
}
