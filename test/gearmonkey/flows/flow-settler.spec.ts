import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { FlowSettler } from '../../../lib/gearmonkey/features/flows/flow-settler.js';
import { Problems } from '../../../lib/gearmonkey/core/source/problems.js';
import { keysOf } from '../../../lib/gearmonkey/core/wire/protocol.js';
import { RedisConnection } from '../../../lib/redis/redis-connection.js';
import { eventually } from '../../support/until.js';
import { useRedis } from '../../support/use-redis.js';

describe('FlowSettler', () => {
  const server = useRedis();
  let commands: RedisConnection;
  let problems: string[];
  let settler: FlowSettler;

  beforeEach(async () => {
    commands = new RedisConnection(server.url, 'commands');
    await commands.ready();
    problems = [];
    const report = new Problems((line) => problems.push(line));
    settler = new FlowSettler(commands, keysOf, report);
    // The script is known from now on: each call is one request.
    settler.settle('first');
    await idle();
    await server.redis.config('RESETSTAT');
  });
  afterEach(() => commands.close());

  const idle = () => eventually(() => expect(settler['busy'].size).toBe(0));
  async function calls(): Promise<number> {
    await idle();
    return Number(/cmdstat_evalsha:calls=(\d+)/.exec(await server.redis.info('commandstats'))?.[1] ?? 0);
  }

  it('settles a function again for jobs that end while it does', async () => {
    const fn = server.fn();
    for (let ends = 0; ends < 5; ends++) settler.settle(fn);
    await expect(calls()).resolves.toBe(2);
    settler.settle(fn);
    await expect(calls()).resolves.toBe(3);
    expect(problems).toEqual([]);
  });

  it('reports a call that failed, and settles later', async () => {
    const fn = server.fn();
    await server.redis.set(`queue:${fn}:flows`, 'text');
    settler.settle(fn);
    await eventually(() => expect(problems).toEqual([expect.stringContaining('WRONGTYPE')]));
    await server.redis.del(`queue:${fn}:flows`);
    const before = await calls();
    settler.settle(fn);
    await expect(calls()).resolves.toBe(before + 1);
  });
});
