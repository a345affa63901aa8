import { describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { NotCancellableError } from '../../lib/index.js';
import { listsHold, pagesAreWhole, tagsFindJobs } from '../chaos/index-checks.js';
import { keyOf, type History } from '../chaos/history.js';
import { readIndexes } from '../chaos/indexes.js';
import { TAG } from '../chaos/jobs.mjs';
import { RedisServer } from '../support/redis-server.js';
import { SlowLine } from '../support/slow-line.js';
import { until } from '../support/until.js';
import { useOutage, work } from './outage-rig.js';

const FN = work.name;

async function offsetOf(redis: Redis, name: string): Promise<number> {
  return Number(new RegExp(`${name}:(\\d+)`).exec(await redis.info('replication'))?.[1]);
}

describe('a failover to a replica that lacks the last writes', () => {
  const outage = useOutage(['--repl-diskless-sync-delay', '0']);

  it('leaves lists and tags that are those of the jobs that are left', async () => {
    const replica = await RedisServer.start([
      ...['--replicaof', '127.0.0.1', `${outage.server.port}`],
      ...['--repl-diskless-sync-delay', '0'],
    ]);
    const promoted = new Redis(replica.url);
    const proxy = await SlowLine.start(outage.server.port);
    try {
      await until(async () => (await promoted.info('replication')).includes('master_link_status:up'));
      const { client } = await outage.actor({ connection: proxy.url });
      /** Ends some jobs in each way. */
      const endSome = async (part: string) => {
        const inputs = Array.from({ length: 50 }, (_, n) => `${part} ${n}`);
        const jobs = await client.runMany(work, inputs, { tags: [TAG] });
        const later = await client.runMany(work, inputs, { delay: '1h', tags: [TAG] });
        for (const job of later.slice(0, 20)) await job.cancel();
        await Promise.all(jobs.map((job) => job.result({ timeout: '30s' })));
        await client.discard(work, jobs[0]?.id ?? '').done.catch((error: unknown) => {
          if (!(error instanceof NotCancellableError)) throw error;
        });
      };
      await endSome('kept');
      const written = await offsetOf(outage.redis, 'master_repl_offset');
      await until(async () => (await offsetOf(promoted, 'slave_repl_offset')) >= written);
      await promoted.replicaof('NO', 'ONE');
      await endSome('lost');
      proxy.retarget(replica.port);
      await endSome('again');

      const indexes = await readIndexes(replica.url, promoted, [FN]);
      const keys = await promoted.keys(`job:${FN}:*`);
      const readings = await Promise.all(
        keys.map(async (key) => {
          const reading = { fn: FN, id: key.slice(`job:${FN}:`.length), fields: await promoted.hgetall(key) };
          return [keyOf(reading), reading] as const;
        }),
      );
      const seen = { indexes, laterReadings: new Map(readings) } as Partial<History> as History;
      expect(readings.length).toBeGreaterThan(190);
      expect([...listsHold(seen), ...pagesAreWhole(seen), ...tagsFindJobs(seen)]).toEqual([]);
      const [overview] = indexes.overview;
      expect(overview).toMatchObject({ fn: FN, scheduled: 60, cancelled: 40 });
    } finally {
      promoted.disconnect();
      await proxy.stop();
      await replica.stop();
    }
  });
});
