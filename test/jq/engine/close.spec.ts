import { describe, expect, it } from '@jest/globals';
import { JqEngine } from '../../../lib/jq/engine/engine.js';
import { useRedis } from '../../support/use-redis.js';

describe('an engine whose Redis is gone', () => {
  const redis = useRedis();

  it('closes all the same, though it looks for what falls due ever again', async () => {
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
