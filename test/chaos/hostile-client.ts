import type { Redis } from 'ioredis';
import { setTimeout as sleep } from 'node:timers/promises';
import { HANDLED, ODD } from './jobs.mjs';
import type { Enqueued } from './history.js';

/** Texts that a client may send as ids. None is a number, so none names a job of the run by accident. */
const IDS = [
  '',
  '-',
  '../1',
  'a:b:c',
  '%00',
  'é\u0000\u2028',
  '{x}',
  '[1]',
  '1e3x',
  'nobody:1',
  'x'.repeat(5000),
];
const MESSAGES = [
  '',
  'finish',
  'finish:',
  'finish:nobody',
  'start:\u0000',
  'create:x:y',
  'nonsense',
  '{"id":1}',
];
const CHANNELS = ['channel', 'progress', 'cancel', 'reply'] as const;
const HASHES: readonly Readonly<Record<string, string>>[] = [
  { status: 'gone', input: '1' },
  { status: 'idle', input: '{"kind":' },
  { status: 'busy', input: '"x"', token: 'seven', attempts: 'many', stalls: '-1' },
  { status: 'idle', input: 'x', attempts: '9007199254740993', retry: 'no', timeout: 'soon', error: '[' },
  { input: 'no status' },
];

/**
 * A client that writes odd data for a function of its own, publishes odd messages on all channels, and gives
 * one queue the wrong type for a while.
 *
 * @returns the one job that it enqueues as the protocol says
 */
export async function writeNonsense(redis: Redis, seed: number, lasts: number): Promise<Enqueued> {
  const low = `queue:${ODD}:low`;
  await redis.set(low, 'not a list');
  for (const [i, id] of IDS.entries()) {
    const key = `job:${ODD}:${id}`;
    if ((seed + i) % 4 === 0) await redis.set(key, 'not a hash');
    else if ((seed + i) % 4 !== 1) await redis.hset(key, HASHES[(seed + i) % HASHES.length] ?? {});
    await redis.lpush(`queue:${ODD}:${i % 2 === 0 ? 'normal' : 'high'}`, id);
    // Scores below 0 are never read: the protocol doesn't have them.
    await redis.zadd(`queue:${ODD}:scheduled`, i / 1000, id);
  }
  for (const fn of Object.keys(HANDLED))
    for (const channel of CHANNELS)
      for (const message of MESSAGES) await redis.publish(`${channel}:${fn}`, message);
  const job = await enqueue(redis);
  await sleep(lasts);
  await redis.del(low);
  for (const id of IDS) await redis.del(`job:${ODD}:${id}`);
  return job;
}

/** In the protocol's own steps. */
async function enqueue(redis: Redis): Promise<Enqueued> {
  const id = String(await redis.incr(`uid:${ODD}`));
  await redis.hset(`job:${ODD}:${id}`, { status: 'idle', input: 'odd' });
  await redis.publish(`channel:${ODD}`, `create:${id}`);
  await redis.lpush(`queue:${ODD}:normal`, id);
  return { fn: ODD, id, kind: 'plain', took: 0 };
}
