import { beforeEach, describe, expect, it } from '@jest/globals';
import { put as putScript } from '../../lib/qless/wire/scripts.js';
import * as scripts from '../../lib/qless/wire/source-scripts.js';
import { useRedis } from '../support/use-redis.js';
import { MOST_COMMANDS, commandsDuring } from './commands-during.js';

const PREFIX = ['ql:'];
const server = useRedis();
beforeEach(() => server.redis.flushall());

/** The commands of the body, with `i`. */
const times = (count: number, body: string) => server.redis.eval(`for i = 1, ${count} do ${body} end`, 0);

const job = (jid: string, more: string) =>
  `redis.call('HSET', 'ql:j:' .. ${jid}, 'jid', ${jid}, 'klass', 'Other', 'data', '{}', 'tags', '[]', 'queue', 'q1',
    'priority', 0, 'retries', 5, 'remaining', 5, ${more})`;

/** Claims jobs of klass `K` from as many queues, at time `now`. */
const claim = (queues: number, now: number) => () =>
  scripts.claim.run(
    server.redis,
    PREFIX,
    now,
    ...(['w', '', 'ordered', 1, 250, 'waiter', '1', 1, ['K', 250]] as const),
    Array.from({ length: queues }, (_, n) => [`q${n + 1}`, 0]).flat(),
  );

describe('one call', () => {
  it.each([1, 20])('of claim examines part of 20,000 jobs of other klasses, of %i queues', async (queues) => {
    for (let queue = 1; queue <= queues; queue++)
      await times(
        20_000 / queues,
        `redis.call('ZADD', 'ql:q:q${queue}-work', -i, 'j' .. i) ${job("'j' .. i", "'state', 'waiting'")}`,
      );
    expect(await commandsDuring(server.redis, claim(queues, 1))).toBeLessThan(MOST_COMMANDS);
    const { jobs, left, offsets } = await claim(queues, 1)();
    expect([jobs, left]).toEqual([[], ['Other']]);
    expect(Math.min(...offsets)).toBeGreaterThan(0);
  });

  it.each([1, 20])(
    'of claim deals with a part of 50,000 locks and runs that are over, of %i queues',
    async (queues) => {
      for (let queue = 1; queue <= queues; queue++) {
        await server.redis.hset('ql:r:r', {
          klass: 'Other',
          data: '{}',
          priority: 0,
          tags: '[]',
          retries: 0,
          interval: 1,
        });
        await server.redis.zadd(`ql:q:q${queue}-recur`, 1, 'r');
        await times(
          50_000 / queues,
          `redis.call('ZADD', 'ql:q:q${queue}-locks', i, 'j' .. i)
         ${job("'j' .. i", "'state', 'running', 'worker', 'dead'")} redis.call('HSET', 'ql:j:j' .. i, 'klass', 'K')`,
        );
      }
      expect(await commandsDuring(server.redis, claim(queues, 1e5))).toBeLessThan(MOST_COMMANDS);
    },
  );

  it('of put, or of a claim without a job, is the same however many workers wait for the queue', async () => {
    const put = (jid: string) => () =>
      putScript.run(server.redis, PREFIX, 1, 'w', 'q1', jid, 'Other', '{}', 0, []);
    const vain = claim(1, 1);
    for (const known of [put('known'), vain]) await known();
    await server.redis.del('ql:idlers:q1');
    const alone = await commandsDuring(server.redis, put('a'));
    const first = await commandsDuring(server.redis, vain);
    await times(3000, `redis.call('ZADD', 'ql:idlers:q1', 11, 'w' .. i)`);
    // Each wake-up costs two more: a push, and the expiry of the list.
    expect(await commandsDuring(server.redis, vain)).toBeLessThanOrEqual(first + 2);
    expect(await commandsDuring(server.redis, put('b'))).toBeLessThanOrEqual(alone + 2);
  });

  it('of settle ends after a completion that was much work, and says which outcomes it covers', async () => {
    await times(
      30,
      `${job("'a' .. i", "'state', 'running', 'worker', 'w', 'time', 5")} redis.call('ZADD', 'ql:q:q1-locks', 9, 'a' .. i)`,
    );
    await times(
      20_000,
      `${job("'d' .. i", "'state', 'depends'")} redis.call('SADD', 'ql:j:d' .. i .. '-dependencies', 'a3')
       redis.call('SADD', 'ql:j:a3-dependents', 'd' .. i) redis.call('ZADD', 'ql:q:q1-depends', 0, 'd' .. i)`,
    );
    const outcomes = Array.from({ length: 30 }, (_, n) => ['complete', `a${n + 1}`, 5, '', '', '']).flat();
    let accepted: boolean[] = [];
    const settle = async () => {
      accepted = await scripts.settle.run(server.redis, PREFIX, 6, 'w', outcomes);
    };
    expect(await commandsDuring(server.redis, settle)).toBeLessThan(MOST_COMMANDS);
    expect(accepted).toEqual([true, true, true]);
    await expect(server.redis.zcard('ql:completed')).resolves.toBe(3);
  });
});
