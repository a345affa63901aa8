import { beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { EngineRig } from '../jq/engine/engine-rig.js';
import * as operations from '../../lib/jq/engine/operations.js';
import { JqEngine } from '../../lib/jq/engine/engine.js';
import { turn } from '../../lib/jq/engine/turn.js';
import { useRedisServer } from '../support/use-redis.js';
import { documentedRights, grant, nameOf, needed, PASSWORD } from './rights.js';

const PREFIX = '{jq}:';
const rights = documentedRights().get('jq') ?? [];
/** Without these there is no script, or messages are missing. */
const APART = ['ping', 'publish', 'subscribe', 'eval', 'evalsha', 'time'].map((name) => `+${name}`);
const REFUSED = /NOPERM|can't run this command|can't access/;
const inOneTurn = needed(rights).filter((right) => !APART.includes(right) && !right.startsWith('&'));

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

  /** Each key with its value. */
  const state = async () => {
    const keys = (await used.redis.keys('*')).toSorted();
    return Promise.all(keys.map(async (key) => [key, (await used.redis.dumpBuffer(key))?.toString('hex')]));
  };

  /** Turns of a master whose user lacks this right. */
  const without = async (right: string, act: (rig: EngineRig) => Promise<void>) => {
    const others = rights.filter((other) => other !== right);
    await grant(used.redis, 'master', others);
    const redis = new Redis(`redis://master:${PASSWORD}@127.0.0.1:${used.port}`);
    await act(new EngineRig(redis, PREFIX)).finally(() => redis.disconnect());
  };

  it('looks for each command of its script before it writes', () => {
    const { text } = turn;
    const used = new Set(
      [...text.matchAll(/\bcall\('([A-Z]+)'/g)].map(([, command]) => `+${command?.toLowerCase()}`),
    );
    const looked = /local USED = \{([^}]+)\}/.exec(text)?.[1]?.match(/[A-Z]+/g) ?? [];
    expect([...looked, 'ZUNIONSTORE'].map((command) => `+${command.toLowerCase()}`).toSorted()).toEqual(
      [...used].filter((right) => !APART.includes(right)).toSorted(),
    );
  });

  it.each(inOneTurn)('writes nothing while it has no %s any more', async (right) => {
    await used.redis.flushall();
    await new EngineRig(used.redis, PREFIX).enqueue();
    await new EngineRig(used.redis, PREFIX).worker();
    const before = await state();
    await without(right, async (rig) => {
      const all = [operations.register('0000000000000009', { name: 'w', maxJobs: 1 }), operations.adopt()];
      await expect(rig.turn(all, { sweep: true, pushes: 9 })).rejects.toThrow(REFUSED);
      await expect(rig.enqueue()).rejects.toThrow(REFUSED);
    });
    expect(await state()).toEqual(before);
  });

  it.each(['+publish', '&{jq}:*'])('does its work without %s: only messages are missing', async (right) => {
    await used.redis.flushall();
    await without(right, async (rig) => {
      const puller = await rig.puller();
      const id = await rig.enqueue();
      const { job } = await rig.pull(puller);
      if (!job) throw new Error('no job');
      await rig.succeed(job);
      await expect(rig.view(id)).resolves.toMatchObject({ status: 'done' });
    });
  });
});
