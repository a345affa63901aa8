import { beforeEach, describe, expect, it } from '@jest/globals';
import { QlessSource } from '../../../lib/qless/source/qless-source.js';
import { claimOne, claimUpTo, failure, released, success } from '../../contract/claiming.js';
import { grant, PASSWORD } from '../../security/rights.js';
import { until } from '../../support/until.js';
import { useRedisServer } from '../../support/use-redis.js';
import { useSource } from './use-source.js';

const ALL = ['~*', '&*', '+@all'];
const server = useRedisServer();
const used = useSource(server);
const said: string[] = [];

beforeEach(async () => {
  said.length = 0;
  await grant(server.redis, 'worker', ALL);
});

/** A worker whose user has all rights at the start. */
function open(): Promise<QlessSource> {
  const url = `redis://worker:${PASSWORD}@127.0.0.1:${server.port}`;
  return used.open({ url, onProblem: (line) => said.push(line) });
}

describe.each(['-evalsha', '-hset', '-zadd', '-zcard'])(
  'while its user has %s, a worker of qless',
  (right) => {
    it('keeps the outcome of a job until it has the right again', async () => {
      await used.client.queue('q').put('K', {}, { jid: 'a', retries: 0 });
      const source = await open();
      const claim = await claimOne(source, 'K');
      await grant(server.redis, 'worker', [...ALL, right]);
      const settled = source.settle([success(claim)]);
      await until(() => said.some((line) => line.startsWith('Outcomes of jobs wait: ')));
      await grant(server.redis, 'worker', ALL);
      await expect(settled).resolves.toEqual([]);
      await expect(used.client.jobs.get('a')).resolves.toMatchObject({ state: 'complete' });
      expect(said).toHaveLength(1);
    });
  },
);

it.each(['-publish', 'resetchannels', '-zpopmax', '-expire', '-hincrby'])(
  'while its user has %s, a worker of qless ends jobs all the same',
  async (right) => {
    const queue = used.client.queue('q');
    for (const jid of ['a', 'b', 'c']) await queue.put('K', {}, { jid });
    await (await used.client.jobs.get('a'))?.track();
    const source = await open();
    const [one, two, three] = await claimUpTo(source, 'K', 3);
    if (!one || !two || !three) throw new Error('Fewer than three jobs were claimed.');
    await grant(server.redis, 'worker', [...ALL, right]);
    await expect(source.settle([success(one), failure(two, 'no disk'), released(three)])).resolves.toEqual(
      [],
    );
    await grant(server.redis, 'worker', ALL);
    const states = await Promise.all(['a', 'b', 'c'].map((jid) => used.client.jobs.get(jid)));
    expect(states.map((job) => job?.state)).toEqual(['complete', 'failed', 'waiting']);
    expect(said).toEqual([]);
  },
);

it('progress of a job waits until the right is there again', async () => {
  await used.client.queue('q').put('K', {}, { jid: 'a' });
  const source = await open();
  const claim = await claimOne(source, 'K');
  await grant(server.redis, 'worker', [...ALL, '-evalsha']);
  const reported = source.progress(claim, 1, 2);
  await until(() => said.some((line) => line.startsWith('Progress of job a waits: ')));
  await grant(server.redis, 'worker', ALL);
  await expect(reported).resolves.toBe(true);
});
