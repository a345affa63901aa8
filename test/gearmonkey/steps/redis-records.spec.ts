import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { RedisParents } from '../../../lib/gearmonkey/features/flows/redis-parents.js';
import { RedisSteps } from '../../../lib/gearmonkey/features/steps/redis-steps.js';
import { keysOf } from '../../../lib/gearmonkey/core/wire/protocol.js';
import type { Claim } from '../../../lib/job/job-source.js';
import { RedisConnection } from '../../../lib/redis/redis-connection.js';
import { useRedis } from '../../support/use-redis.js';

describe('What a job records on Redis', () => {
  const server = useRedis();
  let fn: string;
  let claim: Claim;
  let commands: RedisConnection;
  let records: RedisSteps;

  beforeEach(async () => {
    fn = server.fn();
    claim = { fn, id: '1', token: 7, input: new Uint8Array(), attempts: 1, stalls: 0, options: {} };
    commands = new RedisConnection(server.url, 'commands');
    records = new RedisSteps(commands, keysOf);
    await server.redis.zadd(`lease:${fn}`, Date.now() + 60_000, '1:7');
  });
  afterEach(() => commands.close());

  const hash = () => server.redis.hgetall(`job:${fn}:1`);

  it('is written with the removal of what is outdated, and only by the worker that has the job', async () => {
    await server.redis.hset(`job:${fn}:1`, { status: 'busy', 'step:old': 'x', 'step:older': 'y' });
    const fields = new Map([
      ['steps', '[]'],
      ['step:new', 'z'],
    ]);
    await expect(records.write(claim, fields, ['step:old', 'step:older'])).resolves.toBe(true);
    await expect(hash()).resolves.toEqual({ status: 'busy', steps: '[]', 'step:new': 'z' });
    await expect(
      records.write({ ...claim, token: 8 }, new Map([['step:new', 'no']]), ['steps']),
    ).resolves.toBe(false);
    await expect(hash()).resolves.toMatchObject({ steps: '[]', 'step:new': 'z' });
  });

  it('is read as bytes, without fields that are not there', async () => {
    await server.redis.hset(`job:${fn}:1`, 'step:bytes', Buffer.from([0, 255]));
    const read = await records.read(claim, ['step:none', 'step:bytes']);
    expect(read).toEqual(new Map([['step:bytes', Buffer.from([0, 255])]]));
  });

  it('has the jobs that it waited for in their order, however many', async () => {
    const ids = Array.from({ length: 250 }, (_, index) => `${index + 10}`);
    await server.redis.rpush(`job:${fn}:1:parents`, 'no entry', ...ids.map((id) => `${id}:5:${fn}`));
    await server.redis.hset(`job:${fn}:12`, { status: 'success', mark: '5', output: '"out"' });
    await server.redis.hset(`job:${fn}:13`, { status: 'success', mark: '6', output: '"of another"' });
    const parents = await new RedisParents(commands, keysOf).parents(claim);
    expect(parents.map(({ id }) => id)).toEqual(ids);
    const states = parents.slice(0, 5).map(({ state }) => state);
    expect(states).toEqual(['lost', 'lost', 'succeeded', 'lost', 'lost']);
  });
});
