import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { CommandTrace } from '../support/command-trace.js';
import { useRedis } from '../support/use-redis.js';
import { RedisActors } from './redis-rig.js';

const JOBS = 120;
/** The script's arguments: text or SHA, number of keys, six keys, six values; then come inputs. */
const BEFORE_INPUTS = 14;
/** Which of them is the key of the sender: the server remembers its last call. */
const SENDER = 7;

const server = useRedis();
let actors: RedisActors;
let trace: CommandTrace;

beforeAll(async () => {
  actors = new RedisActors(server.url);
  // The script is loaded before calls of it are counted.
  await actors.client().run('first', 0);
  trace = await CommandTrace.start(server.redis);
});
afterAll(() => {
  trace.stop();
  actors.close();
});

describe('Jobs that are enqueued one by one in a tick', () => {
  const numbers = Array.from({ length: JOBS }, (_, number) => number);

  it('share calls of fifty, in the order in which they were enqueued', async () => {
    const fn = server.fn();
    const client = actors.client();
    await trace.take();
    const jobs = await Promise.all(numbers.map((number) => client.run(fn, number)));
    const calls = (await trace.take()).filter(({ name }) => name === 'enqueue');
    const inputs = calls.map(({ args }) => args.slice(BEFORE_INPUTS).map(Number));
    expect(inputs.map(({ length }) => length)).toEqual([50, 50, 20]);
    expect(inputs.flat()).toEqual(numbers);
    expect(jobs.map(({ id }) => Number(id))).toEqual(numbers.map((number) => number + 1));
    const waiting = await server.redis.lrange(`queue:${fn}:normal`, 0, -1);
    expect(waiting.map(Number).reverse()).toEqual(jobs.map(({ id }) => Number(id)));
  });

  it('have calls of their own if they do not come together, each of which creates its job', async () => {
    const fn = server.fn();
    const client = actors.client();
    for (let id = 1; id <= 9; id++) await expect(client.run(fn, id)).resolves.toMatchObject({ id: `${id}` });
    await expect(server.redis.llen(`queue:${fn}:normal`)).resolves.toBe(9);
  });

  it('share larger calls if they have to wait for earlier ones, so a burst over a slow line is in time', async () => {
    const fn = server.fn();
    const client = actors.client();
    await trace.take();
    await Promise.all(Array.from({ length: 1700 }, (_, number) => client.run(fn, number)));
    const calls = (await trace.take()).filter(({ name }) => name === 'enqueue');
    const lengths = calls.map(({ args }) => args.length - BEFORE_INPUTS);
    expect(lengths).toEqual([50, 50, 50, 50, 250, 250, 250, 250, 250, 250]);
  });

  it('share calls also if their headers differ', async () => {
    const fn = server.fn();
    const client = actors.client();
    await trace.take();
    await Promise.all(numbers.map((number) => client.run(fn, number, { headers: { number: `${number}` } })));
    const calls = (await trace.take()).filter(({ name }) => name === 'enqueue');
    expect(calls.map(({ args }) => (args.length - BEFORE_INPUTS) / 2)).toEqual([50, 50, 20]);
  });

  it('go one after the other if they are debounced: the last input is that of the last call', async () => {
    const fn = server.fn();
    const client = actors.client();
    await trace.take();
    const senders = async (enqueue: () => Promise<unknown>) => {
      for (let call = 0; call < 3; call++) await enqueue();
      const calls = (await trace.take()).filter(({ name }) => name === 'enqueue' || name === 'unique');
      return new Set(calls.map(({ args }) => args[SENDER])).size;
    };
    expect(await senders(() => client.run(fn, 0))).toBe(3);
    expect(await senders(() => client.run(fn, 0, { unique: { key: 'a', debounce: '1h' } }))).toBe(1);
  });

  it('do not delay those of another function', async () => {
    const [many, one] = [server.fn(), server.fn()];
    const client = actors.client();
    await trace.take();
    await Promise.all([...numbers.map((number) => client.run(many, number)), client.run(one, 'alone')]);
    const keys = (await trace.take()).filter(({ name }) => name === 'enqueue').map(({ args }) => args[2]);
    expect(keys.indexOf(`uid:${one}`)).toBe(1);
  });
});
