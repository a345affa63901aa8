import { describe, expect, it } from '@jest/globals';
import { SourceLimits } from '../../../lib/gearmonkey/features/limits/source-limits.js';
import { keysOf } from '../../../lib/gearmonkey/core/wire/protocol.js';
import { defineJob } from '../../../lib/job/job-definition.js';
import type { Claim } from '../../../lib/job/job-source.js';
import type { Limit } from '../../../lib/job/limit.js';
import { bindHandler } from '../../../lib/worker/job-handler.js';
import { runWorker } from '../../support/run-worker.js';
import { RedisConnection } from '../../../lib/redis/redis-connection.js';
import { useGearMonkey } from '../use-gearmonkey.js';

const rules: Limit['rules'] = { concurrency: 1, order: 'fair' };

describe('The limit of a worker', () => {
  const rig = useGearMonkey();
  const storedOf = (fn: string) => rig.redis.hget(keysOf(fn).control, 'limit');
  const limited = (fn: string, concurrency: number) => defineJob(fn, { limit: { concurrency } });

  it('goes before that of a client, and that of a worker that starts later before both', async () => {
    const fn = rig.fn();
    await rig.client.run(limited(fn, 1), 'x');
    await expect(storedOf(fn)).resolves.toBe('1:::fair:');
    for (const concurrency of [2, 3]) {
      await runWorker(rig.source(), limited(fn, concurrency), () => undefined);
      await expect(storedOf(fn)).resolves.toBe(`${concurrency}:::fair:`);
    }
    await rig.client.run(limited(fn, 1), 'x');
    await expect(storedOf(fn)).resolves.toBe('3:::fair:');
  });

  it('is forgotten when its handler is stopped', async () => {
    const fn = rig.fn();
    const source = rig.source();
    const { worker } = await runWorker(source, limited(fn, 1), () => undefined);
    expect(source['features'].keys.has(fn)).toBe(true);
    await worker.remove(fn, 0);
    expect(source['features'].keys.has(fn)).toBe(false);
    await worker.add(bindHandler(defineJob(fn), {}, () => 'out'));
    await expect(rig.client.call(fn, 'x', { timeout: '20s' })).resolves.toBe('out');
  });

  it('gives jobs without a key the one of their input, and fails those that have none', () => {
    const limits = new SourceLimits(new RedisConnection(rig.url, 'unused'), keysOf);
    const claim = (id: string, input: string): Claim => ({
      ...{ fn: 'fn', id, token: 1, input: Buffer.from(input) },
      ...{ attempts: 1, stalls: 0, options: {} },
    });
    const keyOf = (input: Uint8Array) => {
      if (input.length === 0) throw new Error('no key');
      return `key of ${Buffer.from(input)}`;
    };
    const [one, none] = [claim('1', 'a'), claim('2', '')];
    expect(limits.file('fn', [one])).toEqual([{ claim: one, status: 'released' }]);
    limits.set('fn', { rules, keyOf });
    expect(limits.file('fn', [one, none])).toEqual([
      { claim: one, status: 'filed', key: 'key of a' },
      { claim: none, status: 'error', error: expect.objectContaining({ message: 'no key' }) },
    ]);
  });
});
