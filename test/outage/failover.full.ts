import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { NotDurableError } from '../../lib/index.js';
import { SlowLine } from '../support/slow-line.js';
import { RedisServer } from '../support/redis-server.js';
import { eventually, until } from '../support/until.js';
import { HELD, figure, statuses, timeToRun, useOutage, work } from './outage-rig.js';

async function replicaOf(master: RedisServer): Promise<RedisServer> {
  return RedisServer.start(['--replicaof', '127.0.0.1', `${master.port}`, '--repl-diskless-sync-delay', '0']);
}

async function isInStep(redis: Redis): Promise<boolean> {
  return (await redis.info('replication')).includes('master_link_status:up');
}

describe('a failover', () => {
  const outage = useOutage(['--repl-diskless-sync-delay', '0']);
  let replica: RedisServer;
  let promoted: Redis;
  let proxy: SlowLine;

  beforeEach(async () => {
    replica = await replicaOf(outage.server);
    promoted = new Redis(replica.url);
    promoted.on('error', () => undefined);
    await until(() => isInStep(promoted));
    proxy = await SlowLine.start(outage.server.port);
  });
  afterEach(async () => {
    promoted.disconnect();
    await proxy.stop();
    await replica.stop();
  });

  it('whose old master answers READONLY moves connections to the new master', async () => {
    const worker = await outage.actor({ connection: proxy.url });
    const held = await worker.client.run(work, HELD);
    await eventually(() => expect(worker.runs).toHaveLength(1));
    await eventually(async () => expect(await promoted.hget(`job:work:${held.id}`, 'status')).toBe('busy'));

    await promoted.replicaof('NO', 'ONE');
    await outage.redis.replicaof('127.0.0.1', replica.port);
    // The address leads to the old master for a while: what is written there is refused, and tried again.
    const enqueued = worker.client.run(work, 'during');
    await until(
      async () =>
        (await outage.redis.info('commandstats')).includes('rejected_calls=') && !worker.health.connected,
    );
    worker.letGo();
    proxy.retarget(replica.port);

    figure('failover: worker resumes on the new master', await timeToRun(promoted));
    await expect(held.result({ timeout: '30s' })).resolves.toBe('held, done');
    const during = await enqueued;
    await expect(during.result({ timeout: '30s' })).resolves.toBe('during, done');
    await expect(statuses(promoted)).resolves.toEqual({ success: 3 });
    expect(worker.repeated).toEqual([]);
    await until(() => worker.health.connected);
  });
});

describe("durability: 'wait'", () => {
  const outage = useOutage(['--repl-diskless-sync-delay', '0']);

  it('resolves when the replica has the job', async () => {
    const replica = await replicaOf(outage.server);
    const copy = new Redis(replica.url);
    try {
      await until(() => isInStep(copy));
      const client = await outage.actor({ durability: 'wait' }, { works: false });
      const jobs = await client.client.runMany(work, ['a', 'b', 'c']);
      await expect(Promise.all(jobs.map(({ id }) => copy.hget(`job:work:${id}`, 'status')))).resolves.toEqual(
        ['idle', 'idle', 'idle'],
      );
    } finally {
      copy.disconnect();
      await replica.stop();
    }
  });

  it('rejects at its deadline with the jobs that have no replica', async () => {
    const worker = await outage.actor({ durability: 'wait', enqueueTimeout: 500 });
    const since = performance.now();
    const refused = await worker.client.runMany(work, ['a', 'b']).catch((error: unknown) => error);
    figure("durability 'wait' without a replica, deadline 500 ms", performance.now() - since);
    expect(refused).toBeInstanceOf(NotDurableError);
    expect((refused as NotDurableError).ids).toEqual(['1', '2']);
    const alone = await Promise.allSettled(['c', 'd'].map((input) => worker.client.run(work, input)));
    expect(alone).toMatchObject([{ reason: { ids: ['3'] } }, { reason: { ids: ['4'] } }]);
    await expect(worker.client.result(work, '2', { timeout: '5s' })).resolves.toBe('b, done');
    await eventually(async () => expect((await statuses(outage.redis))['success']).toBe(4));
  });
});
