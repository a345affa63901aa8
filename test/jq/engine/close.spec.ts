import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { JqEngine } from '../../../lib/jq/engine/engine.js';
import { turn } from '../../../lib/jq/engine/turn.js';
import { eventually } from '../../support/until.js';
import { useRedis, useRedisServer } from '../../support/use-redis.js';

describe('an engine whose Redis is gone', () => {
  const redis = useRedisServer();

  it('closes, although it goes on sweeping', async () => {
    const engine = new JqEngine({ connection: redis.url });
    await engine.start();
    await redis.server.stop();
    // Two turns are under way that will take their time to fail.
    engine.sweep();
    const waiting = expect(engine.register({ name: 'w', maxJobs: 1 })).rejects.toThrow(
      "Redis can't be asked",
    );
    engine.sweep();
    await engine.close();
    await waiting;
  });
});

describe('an engine whose turns fail', () => {
  const redis = useRedis();

  afterEach(() => void jest.restoreAllMocks());

  it('says so with its next sweep, as with its first: workers were not heard meanwhile', async () => {
    const run = jest.spyOn(turn, 'run');
    const sweeps = () => run.mock.calls.map(([, , , , , sweep]) => sweep).filter((sweep) => sweep !== 0);
    const engine = new JqEngine({ connection: redis.url });
    await engine.start();
    await eventually(() => expect(sweeps()).toEqual([2]));
    run.mockRejectedValueOnce(new Error('Connection is closed.'));
    const registered = engine.register({ name: 'w', maxJobs: 1 });
    await registered.catch(() => undefined);
    for (const count of [2, 3]) {
      engine.sweep();
      await eventually(() => expect(sweeps()).toHaveLength(count));
    }
    expect(sweeps()).toEqual([2, 2, 1]);
    await engine.close();
  });

  it('reports that once, even without operations', async () => {
    const problems: string[] = [];
    const engine = new JqEngine({ connection: redis.url, onProblem: (problem) => problems.push(problem) });
    await engine.start();
    await redis.redis.set('{jq}:delayed', 'not a sorted set');
    await eventually(() => expect(problems.length).toBeGreaterThan(0));
    engine.sweep();
    expect(problems).toEqual([expect.stringContaining('WRONGTYPE')]);
    await engine.close();
  });

  it('says once what Redis refuses, however often that is asked for', async () => {
    const problems: string[] = [];
    const engine = new JqEngine({ connection: redis.url, onProblem: (problem) => problems.push(problem) });
    await redis.redis.del('{jq}:delayed');
    await engine.start();
    await redis.redis.config('SET', 'maxmemory', 1);
    for (let i = 0; i < 3; i++) {
      await expect(engine.register({ name: 'w', maxJobs: 1 })).rejects.toThrow("Redis can't be asked");
    }
    expect(problems).toEqual([expect.stringContaining('OOM')]);
    await redis.redis.config('SET', 'maxmemory', 0);
    await engine.close();
  });
});
