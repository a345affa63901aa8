import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { QlessClient } from '../../lib/qless/index.js';
import { CAPABILITIES } from '../contract/capabilities.js';
import { jobSourceContract } from '../contract/job-source-contract.js';
import { runWorker, stopWorkersAfterEach } from '../support/run-worker.js';
import { RedisCluster } from '../support/redis-cluster.js';
import { eventually } from '../support/until.js';
import { rigOn, sourceOn } from './source-rig.js';

let cluster: RedisCluster;

beforeAll(async () => {
  cluster = await RedisCluster.start();
});
afterAll(() => cluster.stop());

jobSourceContract(
  'qless on a cluster',
  () => {
    const redis = cluster.client();
    return rigOn({ connection: { nodes: cluster.nodes } }, redis, '{ql}:', async () => redis.disconnect());
  },
  CAPABILITIES.qless,
);

describe('a client and a worker on a cluster', () => {
  stopWorkersAfterEach();

  it('share queues whose keys and channels begin with {ql}:', async () => {
    const server = { connection: { nodes: cluster.nodes } };
    const client = new QlessClient(server);
    try {
      const source = sourceOn(server, { queues: ['shared'], keeper: true });
      await runWorker(source, 'Double', (input) => 2 * (input as number), { concurrency: 10 });
      const queue = client.queue('shared');
      const jids = await queue.putMany(Array.from({ length: 150 }, (_, n) => ({ klass: 'Double', data: n })));
      await eventually(async () => expect(await queue.length()).toBe(0));
      const outputs = (await client.jobs.getMany(jids)).map(
        ({ record }) => record.history.find(({ what }) => what === 'returned')?.['output'],
      );
      expect(outputs).toEqual(jids.map((_, n) => String(2 * n)));

      const waiting = client.queue('empty').pop({ wait: '10s' });
      const holder = await cluster.masterOf('{ql}:queues');
      await eventually(async () => expect(await holder.redis.zcard('{ql}:idlers:empty')).toBe(1));
      const jid = await client.queue('empty').put('K');
      await expect(waiting).resolves.toMatchObject([{ jid }]);

      const held = await Promise.all(cluster.members.map(({ redis }) => redis.keys('*')));
      expect(held.flat().filter((key) => !key.startsWith('{ql}:'))).toEqual([]);
    } finally {
      client.close();
    }
  });
});
