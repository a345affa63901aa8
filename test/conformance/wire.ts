import { expect } from '@jest/globals';
import type { Redis } from 'ioredis';
import type { Codec } from '../../lib/job/codec.js';
import { defineJob } from '../../lib/job/job-definition.js';

/** Payloads as they are on the wire. */
const bytesCodec: Codec = {
  name: 'bytes',
  encode: (value) => value as Uint8Array,
  decode: (bytes) => bytes,
};

export const JOB_TTL = 90_000;

/** A function of plain text. */
export function text(fn: string) {
  return defineJob<string, string>(fn, { codec: 'text' });
}

/** A function of bytes as they are on the wire. */
export function bytes(fn: string) {
  return defineJob<Uint8Array, Uint8Array>(fn, { codec: bytesCodec });
}

/** The handler that does what worker.py does. */
export const upper = (input: unknown) => (input as string).toUpperCase();

/** What we add to a job's hash (docs/understand/protocol/job.md). */
const OUR_FIELDS = new Set([
  'created',
  'mark',
  'due',
  'attempts',
  'token',
  'queue',
  'started',
  'finished',
  'settled',
  'stalls',
  'options',
  'error',
]);

/** The error of an attempt. */
const ATTEMPT_ERROR = /^error:\d+$/;

/** The fields that the protocol knows; a field that neither it nor we know stays in. */
export function protocolFields(hash: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(hash).filter(([field]) => !OUR_FIELDS.has(field) && !ATTEMPT_ERROR.test(field)),
  );
}

/** Everything ever published on a function's channel, and on the channel of ours. */
export class ChannelLog {
  readonly events: string[] = [];
  readonly progress: string[] = [];

  private constructor(private readonly subscriber: Redis) {}

  static async open(redis: Redis, fn: string): Promise<ChannelLog> {
    const log = new ChannelLog(redis.duplicate());
    log.subscriber.on('message', (channel: string, message: string) => {
      (channel === `channel:${fn}` ? log.events : log.progress).push(message);
    });
    await log.subscriber.subscribe(`channel:${fn}`, `progress:${fn}`);
    return log;
  }

  /** Also what was published before this was called: an answer to PING follows every message before it. */
  async close(): Promise<string[]> {
    await this.subscriber.ping();
    this.subscriber.disconnect();
    return this.events;
  }
}

/** The complete sequence of a job that ran once. */
export function ranOnce(id: string | number): string[] {
  return [`create:${id}`, `start:${id}`, `finish:${id}`];
}

/** What the protocol leaves behind a finished job: the hash for 25 hours, the lock for 10 seconds. */
async function traces(redis: Redis, fn: string, id: string | number) {
  const [hash, hashTtl, lock, lockTtl] = await Promise.all([
    redis.hgetall(`job:${fn}:${id}`),
    redis.ttl(`job:${fn}:${id}`),
    redis.lrange(`lock:${fn}:${id}`, 0, -1),
    redis.ttl(`lock:${fn}:${id}`),
  ]);
  return { job: protocolFields(hash), hashTtl, lock, lockTtl };
}

/** Exactly these fields of the protocol, and the times to live that it says. */
export async function expectFinished(
  redis: Redis,
  fn: string,
  id: string | number,
  job: Record<string, string>,
): Promise<void> {
  const left = await traces(redis, fn, id);
  expect(left).toMatchObject({ job, lock: ['OK'] });
  expect(left.job).toEqual(job);
  expect(left.hashTtl).toBeGreaterThan(JOB_TTL - 30);
  expect(left.hashTtl).toBeLessThanOrEqual(JOB_TTL);
  expect(left.lockTtl).toBeGreaterThan(0);
  expect(left.lockTtl).toBeLessThanOrEqual(10);
}
