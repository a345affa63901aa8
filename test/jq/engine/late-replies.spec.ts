import { afterEach, describe, expect, it } from '@jest/globals';
import { JqEngine } from '../../../lib/jq/engine/engine.js';
import { PUSH_READING_MS } from '../../../lib/jq/engine/settings.js';
import type { HandedJob } from '../../../lib/jq/engine/operations.js';
import { Raw } from '../../../lib/jq/message-pack/raw.js';
import { holdEventLoop } from '../../support/hold-event-loop.js';
import { Relay } from '../../support/relay.js';
import { eventually } from '../../support/until.js';
import { useRedis } from '../../support/use-redis.js';

const JOB = { name: 'mail', priority: 0, maxRetry: 0, keepResult: false, timeout: 30 };
const WORKER_URL = 'http://127.0.0.1:1';

describe('a turn whose reply is read late', () => {
  const used = useRedis();
  const closing: (() => unknown)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0).toReversed()) await close();
  });

  it('pushes no job, as a sweep may have given it to another worker meanwhile', async () => {
    const relay = await Relay.to(used.port);
    closing.push(() => relay.close());
    let stopped = 0;
    relay.join = (near, far) => {
      near.pipe(far);
      far.on('data', (bytes: Buffer) => {
        near.write(bytes);
        // What is read already lies in the engine's socket while its process stands still.
        if (bytes.includes(WORKER_URL) && stopped++ === 0) holdEventLoop(PUSH_READING_MS);
      });
    };
    const handed: HandedJob[] = [];
    let now = 1_000_000_000;
    const engine = new JqEngine({
      connection: relay.url,
      now: () => now,
      onHanded: (jobs) => handed.push(...jobs),
    });
    closing.push(() => engine.close());
    await engine.start();
    const worker = await engine.register({ name: 'w', maxJobs: 1, url: WORKER_URL });
    const id = await engine.enqueue({ ...JOB, argument: Raw.EMPTY_MAP });
    await expect(engine.read(id)).resolves.toMatchObject({ status: 'queued' });
    expect(stopped).toBe(1);
    expect(handed).toEqual([]);
    await expect(used.redis.hget(`{jq}:job:${id}`, 'state')).resolves.toBe('pushing');
    // At the second sweep at the latest: for Redis the stop may have been an outage.
    await eventually(() => {
      now += 10_000;
      engine.sweep();
      expect(handed).toContainEqual(expect.objectContaining({ id, worker, attempt: 2 }));
    });
  });
});
