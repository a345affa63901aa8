import { afterEach, expect, it } from '@jest/globals';
import { eventually } from '../../support/until.js';
import { useRedis } from '../../support/use-redis.js';
import { claimUpTo } from '../../contract/claiming.js';
import { RedisActors, submit } from '../redis-rig.js';

const server = useRedis();
const actors: RedisActors[] = [];
afterEach(() => {
  for (const one of actors.splice(0)) one.close();
});

it('A limit holds for jobs of plain clients after the server has lost its memory', async () => {
  const fn = server.fn();
  const own = new RedisActors(server.url);
  actors.push(own);
  const source = own.source();
  source.limits.set(fn, { rules: { concurrency: 1, order: 'fair' }, keyOf: () => 'a' });
  await source.open([fn]);
  await server.redis.flushall();
  for (let i = 0; i < 3; i++) await submit(server.redis, fn, 'x');
  await expect(claimUpTo(source, fn, 3)).resolves.toHaveLength(1);
  await eventually(async () => {
    expect(await server.redis.hget(`control:${fn}`, 'limit')).toBe('1:::fair:');
    expect(await server.redis.scard(`limit:${fn}:running:a`)).toBe(1);
  });
  await source.close();
});
