import { inspect } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { GearMonkeyClient } from '../../lib/gearmonkey/client.js';
import type { RunOptions } from '../../lib/gearmonkey/core/client/run-options.js';
import { MalformedJobError, NoWorkersError } from '../../lib/job/errors.js';
import { noDurations } from '../support/no-durations.js';
import { runWorker, stopWorkers } from '../support/run-worker.js';
import { until } from '../support/until.js';
import { useRedis } from '../support/use-redis.js';
import { RedisActors, submit } from './redis-rig.js';

const server = useRedis();
let actors: RedisActors;
let client: GearMonkeyClient;

beforeAll(() => {
  actors = new RedisActors(server.url);
  client = actors.client({ maxPayloadBytes: 1000 });
});
afterEach(stopWorkers);
afterAll(() => actors.close());

describe('GearMonkeyClient.run, before anything is written', () => {
  let before: string[];

  const keys = async () => (await server.redis.keys('*')).sort();
  const unchanged = async () => expect(await keys()).toEqual(before);

  beforeEach(async () => {
    before = await keys();
  });
  afterEach(unchanged);

  it.each([
    ['empty', '', 'it is empty'],
    ['with a space', 'a b', 'white space'],
    ['only spaces', '  ', 'white space'],
    ['with a newline', 'a\nb', 'white space or control characters'],
    ['with NUL', 'a\0', 'control characters'],
    ['with an open brace', 'a{b', 'not one cluster hash tag'],
    ['with two hash tags', '{a}{b}', 'not one cluster hash tag'],
    ['with an empty hash tag', '{}', 'not one cluster hash tag'],
    ['of a kilobyte', 'x'.repeat(1024), 'more than 200 bytes'],
    ['with half a character', 'a\ud800', 'not well-formed'],
  ])('refuses a function name that is %s', async (_, name, reason) => {
    const running = client.run(name, 'x');
    await expect(running).rejects.toThrow(reason);
    await expect(running).rejects.toMatchObject({ code: 'INVALID_FUNCTION_NAME' });
  });

  it('refuses a function name that is no string', async () => {
    await expect(client.run(undefined as unknown as string, 'x')).rejects.toThrow();
    for (const name of [7, null, {}])
      await expect(client.run(name as string, 'x')).rejects.toThrow('a function name to be a string');
  });

  it.each(['abc', 3, null, { length: 1 }, new Set([1])])(
    'refuses inputs that are no list: %p',
    async (inputs) => {
      await expect(client.runMany(server.fn(), inputs as string[])).rejects.toThrow(
        'Expected `inputs` to be a list',
      );
    },
  );

  it('refuses invalid names in every other method', async () => {
    await expect(client.call('', 'x')).rejects.toThrow('it is empty');
    await expect(client.runMany('', ['x'])).rejects.toThrow('it is empty');
    await expect(client.get('', 1)).rejects.toThrow('it is empty');
    await expect(client.result('', 1)).rejects.toThrow('it is empty');
    await expect(client.rollCall('')).rejects.toThrow('it is empty');
    for (const observe of ['events', 'progress', 'watch'] as const) {
      expect(() => client[observe]('', 1)).toThrow('it is empty');
    }
  });

  const options: [string, RunOptions, string][] = [
    ['an unknown priority', { priority: 'urgent' as 'high' }, "Expected `priority` to be 'low', 'normal'"],
    ['a priority that is no string', { priority: 1 as unknown as 'high' }, 'got 1'],
    ["priority 'scheduled' without a time", { priority: 'scheduled' }, 'Expected `scheduled` to be a Date'],
    ['a time with another priority', { priority: 'high', scheduled: new Date() }, 'absent with `scheduled`'],
    [
      'a delay with another priority',
      { priority: 'high', delay: '1s' },
      'Expected `priority` to be absent with `delay`: a job that waits for its time has no other, got "high"',
    ],
    ['both a time and a delay', { scheduled: new Date(), delay: '1s' }, 'absent when `scheduled` is given'],
  ];
  const moments: unknown[] = [30, 0, -1, Number.NaN, Infinity, 1e12, '30s', '2027-01-01', '', null, {}, 5n];
  options.push(
    ...[...moments, new Date('never')].map((moment): [string, RunOptions, string] => [
      `${inspect(moment)} as the time it is scheduled for`,
      { scheduled: moment as Date },
      "as in `scheduled: new Date('2027-01-01')`, or absent with `delay: '30s'` in its place, got",
    ]),
    ...[...noDurations(), ['101 years', '101 years']].map(([what, delay]): [string, RunOptions, string] => [
      `${String(what)} as a delay`,
      { delay: delay as number },
      'Expected `delay` to be at least 0 ms and at most 100 years',
    ]),
    ...[...noDurations(), ['0', 0], ['25 days', '25d']].map(
      ([what, timeout]): [string, RunOptions, string] => [
        `${String(what)} as a timeout`,
        { blocking: true, timeout: timeout as number },
        'Expected `timeout` to be more than 0 ms and at most 24 days',
      ],
    ),
  );
  it.each(options)('refuses %s', async (_, option, reason) => {
    const running = client.run(server.fn(), 'x', option);
    await expect(running).rejects.toThrow(reason);
    await expect(running).rejects.toMatchObject({ code: 'INVALID_OPTION' });
  });

  const circular: { self?: unknown } = {};
  circular.self = circular;
  it.each([
    ['circular', circular, 'circular'],
    ['a BigInt', 10n, 'BigInt'],
    ['a BigInt deep inside', { a: [10n] }, 'BigInt'],
    ['a function', () => 1, 'a function has no JSON'],
    ['a symbol', Symbol('s'), 'a symbol has no JSON'],
  ])('refuses input that is %s', async (_, input, reason) => {
    const running = client.run(server.fn(), input);
    await expect(running).rejects.toThrow(reason);
    await expect(running).rejects.toMatchObject({ code: 'NOT_SERIALIZABLE', what: 'input' });
  });

  it('refuses input over the limit, and names its size', async () => {
    const running = client.run(server.fn(), 'x'.repeat(999));
    await expect(running).rejects.toThrow('has 1001 bytes, more than the limit of 1000');
    await expect(running).rejects.toMatchObject({ code: 'PAYLOAD_TOO_LARGE', bytes: 1001, limit: 1000 });
  });

  it('counts bytes, not characters', async () => {
    await expect(client.run(server.fn(), '€'.repeat(400))).rejects.toThrow('1202 bytes');
  });

  it.each([['missing'], ['0'], ['abc'], ['-1'], ['1.5'], ['']])(
    'refuses a roll call when the count is %p',
    async (count) => {
      const fn = server.fn();
      if (count !== 'missing') await server.redis.set(`count:${fn}`, count);
      const running = client.run(fn, 'x', { rollCall: true });
      await expect(running).rejects.toThrow(NoWorkersError);
      await expect(running).rejects.toThrow('Start one, or enqueue without `rollCall`');
      await server.redis.del(`count:${fn}`);
    },
  );
});

describe('GearMonkeyClient.run', () => {
  it.each(['a:b', ':', '{resize}', 'mail:{eu}:send', 'größe', '日本語', '🐒', 'x'.repeat(200), '__proto__'])(
    'accepts the function name %s',
    async (name) => {
      await runWorker(actors.source(), name, (input) => input);
      await expect(client.call(name, 'x', { timeout: '10s' })).resolves.toBe('x');
      await expect(server.redis.exists(`job:${name}:1`)).resolves.toBe(1);
    },
  );

  it('accepts input of exactly the limit', async () => {
    await expect(client.run(server.fn(), 'x'.repeat(998))).resolves.toMatchObject({ id: '1' });
  });
});

describe('GearMonkeyClient.get', () => {
  it.each([
    ['a status the protocol does not know', { status: 'foo', input: 'x' }, 'its status is "foo"'],
    ['no status', { input: 'x' }, 'it has no status'],
  ])('refuses a hash with %s', async (_, hash, reason) => {
    const fn = server.fn();
    await server.redis.hset(`job:${fn}:1`, hash);
    await expect(client.get(fn, 1)).rejects.toThrow(MalformedJobError);
    await expect(client.get(fn, 1)).rejects.toThrow(reason);
  });

  it('rejects for a key that is no hash', async () => {
    const fn = server.fn();
    await server.redis.set(`job:${fn}:1`, 'text');
    await expect(client.get(fn, 1)).rejects.toThrow('its key does not hold a hash');
    await expect(client.result(fn, 1)).rejects.toThrow(MalformedJobError);
  });

  it('returns null for a job that there is not, which `getOrThrow` and `result` name', async () => {
    const fn = server.fn();
    await expect(client.get(fn, 7)).resolves.toBeNull();
    for (const asked of [client.getOrThrow(fn, 7), client.result(fn, 7)])
      await expect(asked).rejects.toMatchObject({ code: 'JOB_NOT_FOUND', id: '7' });
  });

  it('reads no job of a function whose name begins with that of another', async () => {
    const fn = server.fn();
    await client.run(`${fn}:send`, 'x');
    await expect(client.get(`${fn}:send`, 1)).resolves.toMatchObject({ input: 'x' });
    await expect(client.get(fn, 'send:1')).resolves.toBeNull();
    await expect(client.described(fn, 'send:1')).resolves.toBeUndefined();
    await expect(client.cancel(fn, 'send:1')).rejects.toMatchObject({ code: 'JOB_NOT_FOUND' });
  });

  it('ignores stored numbers that are invalid', async () => {
    const fn = server.fn();
    const hash = { status: 'busy', input: 'x', attempts: 'abc', started: '', created: 'now' };
    await server.redis.hset(`job:${fn}:1`, { ...hash, 'status:dividend': 'x', 'status:divisor': '10' });
    const job = await client.get(fn, 1);
    expect(job).toMatchObject({ state: 'running', attempts: 0, times: {} });
    expect(job).not.toHaveProperty('progress');
  });

  it('uses the output as the message if the JSON of the error is broken', async () => {
    const fn = server.fn();
    for (const [id, error] of ['{', '[]', '{"name":1}', 'null'].entries()) {
      await server.redis.hset(`job:${fn}:${id}`, { status: 'error', input: 'x', output: 'no', error });
      await expect(client.get(fn, id)).resolves.toMatchObject({ error: { name: 'Error', message: 'no' } });
    }
  });

  it('rejects for input that the codec cannot read', async () => {
    const fn = server.fn();
    const id = await submit(server.redis, fn, Buffer.from([255]));
    await expect(client.get(fn, id)).rejects.toThrow('is not readable as json: it is not UTF-8');
  });
});

describe('GearMonkeyClient on keys of the wrong type', () => {
  it('rejects if the queue is no list, and creates no job', async () => {
    const fn = server.fn();
    await server.redis.set(`queue:${fn}:normal`, 'text');
    await expect(client.run(fn, 'x')).rejects.toMatchObject({ code: 'REFUSED' });
    await expect(client.run(fn, 'x')).rejects.toThrow('WRONGTYPE');
    await expect(server.redis.keys(`job:${fn}:*`)).resolves.toEqual([]);
  });

  it('rejects if the ids are no number', async () => {
    const fn = server.fn();
    await server.redis.set(`uid:${fn}`, 'text');
    await expect(client.run(fn, 'x')).rejects.toThrow('not an integer');
  });

  it('rejects if the count is no string', async () => {
    const fn = server.fn();
    await server.redis.lpush(`count:${fn}`, 'x');
    await expect(client.rollCall(fn)).rejects.toThrow('WRONGTYPE');
    await until(() => server.redis.del(`count:${fn}`));
  });
});
