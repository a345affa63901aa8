import { afterEach, describe, expect, it } from '@jest/globals';
import { claimOne, retry } from '../contract/claiming.js';
import { CommandTrace } from '../support/command-trace.js';
import { eventually } from '../support/until.js';
import { useRedisServer } from '../support/use-redis.js';
import { RedisActors } from './redis-rig.js';

const LEASE_MS = 8000;

describe('A worker whose calls fail, since the server refuses to write', () => {
  const server = useRedisServer();
  let actors: RedisActors | undefined;
  let trace: CommandTrace | undefined;
  afterEach(() => {
    trace?.stop();
    actors?.close();
  });

  /** How often the calls of `look` that were made meanwhile say that the worker looks; its time to lead if they don't. */
  async function looks(): Promise<(string | undefined)[]> {
    const calls = (await trace?.take()) ?? [];
    return calls.filter(({ name }) => name === 'look').map(({ args }) => args.at(-1));
  }

  it('says so with its next look, and no more with the one after', async () => {
    const fn = server.fn();
    actors = new RedisActors(server.url);
    const source = actors.source({ lease: LEASE_MS });
    await source.open([fn]);
    await actors.client().run(fn, 1);
    await claimOne(source, fn);
    trace = await CommandTrace.start(server.redis);
    // It leads for three seconds; then it says how long again.
    await eventually(async () => expect(await looks()).toContain('3000'));
    await server.redis.config('SET', 'min-replicas-to-write', '1');
    await eventually(async () => expect(await looks()).not.toEqual([]));
    await server.redis.config('SET', 'min-replicas-to-write', '0');
    const said: (string | undefined)[] = [];
    await eventually(async () => {
      said.push(...(await looks()));
      expect(said.slice(said.lastIndexOf('-1') + 1)).toContain('3000');
      expect(said).toContain('-1');
    });
    await source.close();
  });

  it('logs what it could not do, and for which function', async () => {
    const fn = server.fn();
    const problems: string[] = [];
    actors = new RedisActors(server.url);
    const source = actors.source({ lease: LEASE_MS, onProblem: (message) => void problems.push(message) });
    await source.open([fn]);
    await actors.client().run(fn, 1);
    await source.settle([retry(await claimOne(source, fn), 900)]);
    await server.redis.acl('SETUSER', 'default', '-@scripting');
    await eventually(() => expect(problems.join('\n')).toMatch(`Looking for jobs of "${fn}"`));
    await server.redis.acl('SETUSER', 'default', '+@all');
    expect(problems.filter((problem) => problem.startsWith('NOPERM'))).toEqual([]);
    await source.close();
  });
});
