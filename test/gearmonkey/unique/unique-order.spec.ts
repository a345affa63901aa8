import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { setImmediate as turn } from 'node:timers/promises';
import type { RunOptions } from '../../../lib/gearmonkey/core/client/run-options.js';
import { SlowLine } from '../../support/slow-line.js';
import { useRedis } from '../../support/use-redis.js';
import { RedisActors } from '../redis-rig.js';

/** Each call is under way for a while, so that others wait for senders. */
const LATENCY_MS = 5;

describe('Unique jobs of one client, over a slow line', () => {
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

  it('have the last input if they are debounced, though no call waits for the one before and the connection breaks', async () => {
    const fn = server.fn();
    const client = actors.client();
    const options: RunOptions = { unique: { key: 'key', debounce: '1h' } };
    let last = 0;
    for (let round = 0; round < 10; round++) {
      const calls = [];
      for (let tick = 0; tick < 60; tick++) {
        // As many as fill a call at times, and a single one at others.
        for (let i = (tick * 7) % 60; i >= 0; i--) calls.push(client.run(fn, (last += 1), options));
        await turn();
        if (tick % 20 === 10) line.cut();
      }
      const [job] = await Promise.all(calls);
      expect((await job?.get())?.input).toBe(last);
    }
  });

  it('are the first of their key among more than fit into a call', async () => {
    const fn = server.fn();
    const client = actors.client();
    const inputs = Array.from({ length: 4000 }, (_, i) => i);
    for (let round = 0; round < 5; round++) {
      const unique = { key: (input: unknown) => `${round} ${Number(input) % 400}` };
      const jobs = await client.runMany(fn, inputs, { unique });
      expect(jobs.map(({ created }) => created)).toEqual(inputs.map((input) => input < 400));
      const debounced = { key: (input: unknown) => `${round} ${Number(input) % 3}`, debounce: '1h' };
      const [, , job] = await client.runMany(fn, inputs, { unique: debounced });
      expect((await job?.get())?.input).toBe(3998);
    }
  });
});
