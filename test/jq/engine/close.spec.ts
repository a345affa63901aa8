import { describe, expect, it } from '@jest/globals';
import { JqEngine } from '../../../lib/jq/engine/engine.js';
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

  it('has silence count anew from its first sweep, unless another master has swept before', async () => {
    const since = () => redis.redis.get('{jq}:swept');
    const masters = [1, 2].map(() => new JqEngine({ connection: redis.url }));
    await masters[0]?.start();
    await eventually(async () => expect(Number(await since())).toBeGreaterThan(0));
    const first = await since();
    await masters[1]?.start();
    masters[1]?.sweep();
    await masters[1]?.register({ name: 'w', maxJobs: 1 });
    expect(await since()).toBe(first);
    await Promise.all(masters.map((master) => master.close()));
    // As if none had swept for longer.
    await redis.redis.del('{jq}:swept');
    const next = new JqEngine({ connection: redis.url });
    await next.start();
    await eventually(async () => expect(Number(await since())).toBeGreaterThan(Number(first)));
    await next.close();
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
