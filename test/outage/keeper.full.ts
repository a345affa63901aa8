import { describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { RedisServer } from '../support/redis-server.js';
import { SlowLine } from '../support/slow-line.js';
import { eventually, until } from '../support/until.js';
import { HELD, useOutage, work } from './outage-rig.js';

const LEASE_MS = 2000;

async function clients(redis: Redis): Promise<string> {
  return (await redis.client('LIST')) as string;
}

describe('a failover that leaves connections open', () => {
  const outage = useOutage(['--repl-diskless-sync-delay', '0']);

  it('moves keeper and subscriber to the new master, and a long job runs once', async () => {
    const args = ['--replicaof', '127.0.0.1', `${outage.server.port}`, '--repl-diskless-sync-delay', '0'];
    const replica = await RedisServer.start(args);
    const promoted = new Redis(replica.url);
    const line = await SlowLine.start(outage.server.port);
    try {
      await eventually(async () =>
        expect(await promoted.info('replication')).toContain('master_link_status:up'),
      );
      const worker = await outage.actor({ connection: line.url, lease: LEASE_MS });
      const other = await outage.actor({ connection: line.url, lease: LEASE_MS });
      const job = await worker.client.run(work, HELD);
      const result = job.result({ timeout: '30s' });
      await eventually(() => expect(worker.runs.length + other.runs.length).toBe(1));
      // Replication is asynchronous: a job that has not arrived would be lost with its server.
      await eventually(async () => expect(await promoted.zcard('lease:work')).toBe(1));

      line.lead(replica.port);
      await promoted.replicaof('NO', 'ONE');
      await outage.redis.replicaof('127.0.0.1', replica.port);
      const moved = (role: string) => async () =>
        ((await clients(promoted)).match(new RegExp(`name=nestjs-gearmonkey:${role} `, 'g')) ?? []).length ===
        2;
      // A connection for commands moves with its next write, and the subscriber with it: a worker that does not lead may have none.
      for (const { client } of [worker, other]) await client.run('elsewhere', null);
      for (const role of ['commands', 'blocking', 'keeper', 'subscriber']) await until(moved(role));
      const left = (await clients(outage.redis)).match(/name=nestjs-gearmonkey:\w+/g);
      expect(left).toBeNull();

      const lease = async () => Number((await promoted.zrange('lease:work', '0', '0', 'WITHSCORES'))[1]);
      const first = await lease();
      await eventually(async () => expect(await lease()).toBeGreaterThan(first + 2 * LEASE_MS), {
        interval: 100,
      });
      worker.letGo();
      other.letGo();
      await expect(result).resolves.toBe('held, done');
      expect([...worker.runs, ...other.runs]).toEqual([job.id]);
      await expect(worker.client.rollCall(work)).resolves.toBe(2);
    } finally {
      promoted.disconnect();
      await line.stop();
      await replica.stop();
    }
  });
});

describe('a keeper that gets no connection', () => {
  const outage = useOutage([]);

  it('is replaced by the main thread until it is back, which health reports', async () => {
    const worker = await outage.actor({ lease: LEASE_MS });
    const other = await outage.actor({ lease: LEASE_MS });
    const job = await worker.client.run(work, HELD);
    await eventually(() => expect(worker.runs.length + other.runs.length).toBe(1));
    expect(worker.health.leasesKeptBy).toBe('thread');

    const lines = async () =>
      (await clients(outage.redis)).split('\n').filter((line) => line.includes('id='));
    const isKeeper = (line: string) => line.includes(':keeper ');
    await eventually(async () => expect((await lines()).filter(isKeeper)).toHaveLength(2));
    const connected = await lines();
    const keepers = connected.filter(isKeeper);
    await outage.redis.config('SET', 'maxclients', String(connected.length - keepers.length));
    for (const line of keepers) await outage.redis.client('KILL', 'ID', /id=(\d+)/.exec(line)?.[1] ?? '');
    await until(
      () => worker.health.leasesKeptBy === 'main thread' && other.health.leasesKeptBy === 'main thread',
    );

    const lease = async () => Number((await outage.redis.zrange('lease:work', '0', '0', 'WITHSCORES'))[1]);
    const first = await lease();
    await eventually(async () => expect(await lease()).toBeGreaterThan(first + LEASE_MS), { interval: 100 });
    await outage.redis.config('SET', 'maxclients', '1000');
    await until(() => worker.health.leasesKeptBy === 'thread' && other.health.leasesKeptBy === 'thread');
    worker.letGo();
    other.letGo();
    await expect(job.result({ timeout: '20s' })).resolves.toBe('held, done');
    expect([...worker.runs, ...other.runs]).toEqual([job.id]);
  });
});
