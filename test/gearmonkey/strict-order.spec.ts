import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { defineJob } from '../../lib/job/job-definition.js';
import { SlowLine } from '../support/slow-line.js';
import { until } from '../support/until.js';
import { useRedis } from '../support/use-redis.js';
import { RedisActors } from './redis-rig.js';

/** Each call is under way for a while, so that connections break between others. */
const LATENCY_MS = 5;

describe('Jobs in strict order of one client, over a slow line', () => {
  const server = useRedis();
  let line: SlowLine;
  let actors: RedisActors;

  beforeEach(async () => {
    line = await SlowLine.start(server.port, { latency: LATENCY_MS });
    actors = new RedisActors(line.url);
  });
  afterEach(() => {
    actors.close();
    line.stop();
  });

  const inputsTo = (count: number) => Array.from({ length: count }, (_, input) => input);
  const strict = (fn: string) => defineJob<number, void>(fn, { limit: { key: () => 'k', order: 'strict' } });

  /** Cuts all connections each time that so many more jobs are there, until all are. */
  async function cutEach(list: string, step: number, all: number): Promise<void> {
    for (let count = step; count < all; count += step) {
      await until(async () => (await server.redis.llen(list)) >= count);
      line.cut();
    }
  }

  /** The inputs of the jobs in a list, the first to be taken first. */
  async function inputsIn(fn: string, list: string): Promise<number[]> {
    const ids = (await server.redis.lrange(list, 0, -1)).toReversed();
    return Promise.all(ids.map(async (id) => Number(await server.redis.hget(`job:${fn}:${id}`, 'input'))));
  }

  it('wait in the order of the inputs of a call, though connections break', async () => {
    for (let round = 0; round < 5; round++) {
      const fn = server.fn();
      const list = `limit:${fn}:wait:normal:k`;
      const inputs = inputsTo(3000);
      const [jobs] = await Promise.all([
        actors.client().runMany(strict(fn), inputs),
        cutEach(list, 500, inputs.length),
      ]);
      expect(jobs.map(({ id }) => Number(id))).toEqual(inputs.map((input) => input + 1));
      await expect(inputsIn(fn, list)).resolves.toEqual(inputs);
    }
  });

  it('wait in the order of calls of which none waits for the one before, though connections break', async () => {
    const fn = server.fn();
    const list = `limit:${fn}:wait:normal:k`;
    const client = actors.client();
    // Jobs with tags are sent apart from others.
    const inputs = inputsTo(1500);
    const calls = inputs.map((input) =>
      client.run(strict(fn), input, input % 7 === 0 ? { tags: ['seventh'] } : {}),
    );
    await Promise.all([...calls, cutEach(list, 300, inputs.length)]);
    await expect(inputsIn(fn, list)).resolves.toEqual(inputs);
  });

  it('wait in the order of the inputs if they are unique, and get their keys from a worker', async () => {
    const fn = server.fn();
    const list = `queue:${fn}:normal`;
    const inputs = inputsTo(2000);
    const unique = { key: (input: number) => `job ${input}` };
    await Promise.all([
      actors.client().runMany(strict(fn), inputs, { unique }),
      cutEach(list, 500, inputs.length),
    ]);
    await expect(inputsIn(fn, list)).resolves.toEqual(inputs);
  });

  it('are created up to the first that is refused, and none behind it', async () => {
    const fn = server.fn();
    const key = (input: number) => (input === 600 ? '0' : String(input));
    const refused = defineJob<number, void>(fn, { limit: { key, order: 'strict', onFull: 'refuse' } });
    await expect(actors.client().runMany(refused, inputsTo(2500))).rejects.toMatchObject({
      code: 'PARTLY_ENQUEUED',
      ids: inputsTo(500).map((input) => String(input + 1)),
    });
    await expect(server.redis.get(`uid:${fn}`)).resolves.toBe('500');
  });
});
