import { beforeEach, describe, expect, it } from '@jest/globals';
import { JqEngine } from '../../lib/jq/engine/engine.js';
import { useRedisServer } from '../support/use-redis.js';
import { documentedRights, grant, nameOf, needed, PASSWORD } from './rights.js';

const rights = documentedRights().get('jq') ?? [];

describe('a JQ master', () => {
  const used = useRedisServer();
  beforeEach(() => used.redis.script('FLUSH'));

  const start = async (granted: readonly string[]) => {
    await grant(used.redis, 'master', granted);
    const connection = `redis://master:${PASSWORD}@127.0.0.1:${used.port}`;
    const engine = new JqEngine({ connection });
    await engine.start().finally(() => engine.close());
  };

  it('starts with the rights of docs/operate/security.md', async () => {
    await expect(start(rights)).resolves.toBeUndefined();
  });

  it.each(needed(rights))('hands out no jobs without %s, and names it', async (right) => {
    await expect(start(rights.filter((other) => other !== right))).rejects.toThrow(nameOf(right));
  });
});
