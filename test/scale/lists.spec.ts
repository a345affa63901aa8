import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { JobState } from '../../lib/job/job-state.js';
import { keysOf } from '../../lib/gearmonkey/core/wire/protocol.js';
import { RedisActors } from '../gearmonkey/redis-rig.js';
import { useRedis } from '../support/use-redis.js';

const JOBS = Number(process.env['LISTED_JOBS'] ?? 100_000);
const A_CALL = 10_000;
const FN = 'many';
/** Commands of scripts for a page of 100: some for each list, and three for each job. */
const MOST_CALLS = 320;
const STATES: readonly JobState[] = ['waiting', 'scheduled', 'retrying', 'succeeded', 'failed', 'cancelled'];

/** Makes jobs `from` to `to` in a list, as workers and clients leave them. */
const FILL = `
for id = ARGV[1], ARGV[2] do
  redis.call('HSET', KEYS[1] .. id, 'status', ARGV[3], 'input', '1', 'created', ARGV[4], 'attempts', '1')
  if ARGV[5] == 'list' then redis.call('LPUSH', KEYS[2], id) else redis.call('ZADD', KEYS[2], ARGV[5] + id, id) end
end`;

/** Tags jobs `from` to `to`. */
const TAG = `
for id = ARGV[1], ARGV[2] do
  local text = string.format('%.0f', id)
  redis.call('ZADD', KEYS[1], '0', 't\\0' .. string.format('%02d', #text) .. text)
  redis.call('HSET', KEYS[2] .. text, 'options', ARGV[3])
end`;

describe(`lists of ${JOBS} jobs in each state`, () => {
  const used = useRedis();
  let actors: RedisActors;

  beforeAll(async () => {
    actors = new RedisActors(used.url);
    const k = keysOf(FN);
    const now = Date.now();
    const later = now + 3_600_000;
    const lists = [
      [k.normal, 'idle', 'list'],
      [k.scheduled, 'idle', later / 1000],
      [k.retrying, 'idle', later + 10 * JOBS],
      [`${k.ended}success`, 'success', now - 3_600_000],
      [`${k.ended}failed`, 'error', now - 3_600_000],
      [`${k.ended}cancelled`, 'error', now - 3_600_000],
    ] as const;
    for (const [index, [key, status, score]] of lists.entries())
      for (let from = index * JOBS + 1; from <= (index + 1) * JOBS; from += A_CALL)
        await used.redis.eval(FILL, 2, k.jobs, key, from, from + A_CALL - 1, status, now, score);
    await used.redis.zadd('functions', now, FN);
  }, 300_000);
  afterAll(() => actors.close());

  async function callsOf(question: () => Promise<unknown>): Promise<number> {
    await question();
    await used.redis.config('RESETSTAT');
    await question();
    const stats = await used.redis.info('commandstats');
    const calls = [...stats.matchAll(/^cmdstat_([\w|]+):calls=(\d+),usec=(\d+)/gm)];
    const script = calls.find(([, name]) => name === 'evalsha');
    if (process.env['LISTED_JOBS'])
      process.stdout.write(`${expect.getState().currentTestName}: ${script?.[3]} us\n`);
    return calls.reduce((sum, [, , count]) => sum + Number(count), 0);
  }

  it.each(STATES)('a page of %s jobs takes some commands for each job, wherever it begins', async (state) => {
    const client = actors.client();
    for (const order of ['newest', 'oldest'] as const) {
      const first = await client.list(FN, { state, order, size: 100 });
      expect(first.jobs).toHaveLength(100);
      let page = first.next ?? '';
      for (let pages = 0; pages < 5; pages++)
        page = (await client.list(FN, { state, order, size: 100, page })).next ?? '';
      const read = () => client.list(FN, { state, order, size: 100, page, payloads: true });
      expect(await callsOf(read)).toBeLessThanOrEqual(2 * MOST_CALLS);
      expect(await callsOf(() => client.list(FN, { state, order, size: 100 }))).toBeLessThanOrEqual(
        MOST_CALLS,
      );
    }
  });

  it.each(['newest', 'oldest'] as const)(
    'a page of the %s jobs of a tag takes some commands for each job',
    async (order) => {
      const client = actors.client();
      const { tags } = keysOf(FN);
      const options = JSON.stringify({ tags: ['t'] });
      for (let from = 1; from <= JOBS; from += A_CALL)
        await used.redis.eval(TAG, 2, tags, keysOf(FN).jobs, from, from + A_CALL - 1, options);
      const first = await client.find(FN, { tag: 't', order, size: 100 });
      expect([first.jobs.length, first.total]).toEqual([100, JOBS]);
      const read = () => client.find(FN, { tag: 't', order, size: 100, page: first.next, payloads: true });
      expect(await callsOf(read)).toBeLessThanOrEqual(8 * 100 + 20);
    },
  );

  it('an overview takes some commands for each function', async () => {
    const client = actors.client();
    expect(await client.overview()).toMatchObject([
      {
        fn: FN,
        waiting: { normal: JOBS },
        scheduled: 0,
        retrying: JOBS,
        succeeded: JOBS,
        failed: JOBS,
        cancelled: JOBS,
      },
    ]);
    expect(await callsOf(() => client.overview())).toBeLessThanOrEqual(40);
  });
});
