import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { SlotTrace } from './slot-trace.js';
import { useRedis } from './use-redis.js';

const used = useRedis();
let trace: SlotTrace;

beforeEach(async () => {
  trace = await SlotTrace.start(used.redis, { key: 'of-tests', calls: ['del'] });
});
afterEach(() => trace.stop());

const run = (script: string, ...keys: string[]) => used.redis.eval(script, keys.length, ...keys);

it('finds nothing where all keys of a call have one slot', async () => {
  await used.redis.mset('{a}:1', 'x', '{a}:2', '{b}');
  await run(`redis.call('GET', '{a}:3')`, '{a}:1', '{a}:2');
  await used.redis.set('{b}:1', '');
  await expect(trace.violations()).resolves.toEqual([]);
});

it.each<[string, () => Promise<unknown>]>([
  ['keys of a script', () => run('return 1', '{a}:1', '{b}:1')],
  ['a key that a script names itself', () => run(`redis.call('GET', '{b}:1')`, '{a}:1')],
  ['keys that a script names alone', () => run(`redis.call('DEL', '{a}:1', '{b}:1')`)],
  ['every second argument', () => used.redis.mset('{a}:1', 'x', '{b}:1', 'x')],
])('finds %s in another slot', async (_, call) => {
  await call();
  await expect(trace.violations()).resolves.toEqual([expect.stringMatching(/: \{a\}:1 \{b\}:1$/)]);
});

it('leaves out calls that are of several functions, and the key of tests', async () => {
  await used.redis.del('{a}:1', '{b}:1');
  await run(`redis.call('GET', 'of-tests')`, '{a}:1');
  await expect(trace.violations()).resolves.toEqual([]);
});
