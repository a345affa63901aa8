import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { GearMonkeyClient } from '../../lib/gearmonkey/client.js';
import { RedisStore } from '../../lib/gearmonkey/redis-store.js';
import { openConnections } from '../../lib/gearmonkey/redis-connections.js';
import { Housekeeping } from '../../lib/gearmonkey/features/views/housekeeping.js';
import { SourceKeep } from '../../lib/gearmonkey/features/keep/keep.js';
import { FunctionIndex } from '../../lib/gearmonkey/core/wire/function-index.js';
import { keysOf } from '../../lib/gearmonkey/core/wire/protocol.js';
import { defineJob } from '../../lib/job/job-definition.js';
import { RefusedError } from '../../lib/job/server-errors.js';
import { until } from '../support/until.js';
import { useRedis } from '../support/use-redis.js';
import { useGearMonkey } from './use-gearmonkey.js';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

describe('the index of functions', () => {
  const rig = useGearMonkey(useRedis());
  const connect = async () => rig.redis;
  const names = () => rig.redis.zrange('functions', '0', '-1');
  const noted = async (fn: string) => (await rig.redis.zscore('functions', fn)) !== null;
  const shown = async (client: GearMonkeyClient) => (await client.overview()).map(({ fn }) => fn);

  beforeEach(async () => {
    await rig.redis.del('functions');
  });

  it('shows functions beside a thousand entries of the future, which the next note removes', async () => {
    const future = Array.from({ length: 1000 }, (_, index) => [9_999_999_999_999, `zz${index}`]).flat();
    await rig.redis.zadd('functions', Date.now(), 'billing', ...future);
    await expect(shown(rig.newClient())).resolves.toEqual(['billing']);
    new FunctionIndex(keysOf).note(connect, ['mail']);
    await until(() => noted('mail'));
    await expect(names()).resolves.toEqual(['billing', 'mail']);
  });

  it('leaves out names of other programs that no function of ours can have', async () => {
    await rig.redis.zadd(
      'functions',
      ...['billing', 'send mail', '', 'a\u202eb'].flatMap((fn) => [Date.now(), fn]),
    );
    const client = rig.newClient();
    await expect(client.functions()).resolves.toEqual(['billing']);
    await expect(shown(client)).resolves.toEqual(['billing']);
  });

  it('leaves out functions that the server refuses, unless it refuses all', async () => {
    await rig.redis.zadd('functions', ...['billing', 'mail'].flatMap((fn) => [Date.now(), fn]));
    const grant = (...rights: string[]) => rig.redis.call('ACL', 'SETUSER', 'viewer', ...rights);
    await grant('reset', 'on', '>secret', '+@all', '&*', '~functions', '~*mail*');
    const { commands, hub, close } = openConnections(rig.url.replace('//', '//viewer:secret@'));
    const client = new GearMonkeyClient(new RedisStore(commands, hub, { timeout: 15_000, keysOf }));
    try {
      await expect(shown(client)).resolves.toEqual(['mail']);
      await expect(client.overviewOf(['billing'])).rejects.toThrow(RefusedError);
      await grant('resetkeys', '~functions');
      await expect(shown(client)).rejects.toThrow(RefusedError);
    } finally {
      await client.close();
      close();
      await rig.redis.call('ACL', 'DELUSER', 'viewer');
    }
  });

  it('is noted at the server’s time', async () => {
    const [fn, [seconds = '']] = [rig.fn(), await rig.redis.time()];
    new FunctionIndex(keysOf).note(connect, [fn], 40 * DAY_MS);
    await until(() => noted(fn));
    const score = Number(await rig.redis.zscore('functions', fn));
    expect(Math.abs(score - Number(seconds) * 1000)).toBeLessThan(30_000);
  });

  it('forgets functions that were not seen for 30 days, and no others', async () => {
    await rig.redis.zadd('functions', Date.now() - 31 * DAY_MS, 'old', Date.now() - 29 * DAY_MS, 'rare');
    new FunctionIndex(keysOf).note(connect, ['mail']);
    await until(() => noted('mail'));
    await expect(names()).resolves.toEqual(['rare', 'mail']);
  });

  it('gets a removed function back from its leader within a minute', async () => {
    const fn = rig.fn();
    const housekeeping = new Housekeeping(keysOf, new SourceKeep(), connect);
    await housekeeping.tend([fn], 0);
    await until(() => noted(fn));
    await rig.redis.zrem('functions', fn);
    await housekeeping.tend([fn], MINUTE_MS);
    await until(() => noted(fn));
  });

  describe('of another type', () => {
    const problems: string[] = [];
    let client: GearMonkeyClient;
    let close = () => {};

    beforeEach(async () => {
      problems.length = 0;
      const connections = openConnections(rig.url);
      const { commands, hub } = connections;
      close = () => connections.close();
      const onProblem = (message: string) => problems.push(message);
      client = new GearMonkeyClient(new RedisStore(commands, hub, { timeout: 15_000, keysOf, onProblem }));
      await rig.redis.set('functions', 'of another program');
    });
    afterEach(async () => {
      await client.close();
      close();
    });

    it('counts as empty, is left as it is, and is said once', async () => {
      client.register(defineJob('mail'));
      await expect(shown(client)).resolves.toEqual(['mail']);
      await expect(shown(client)).resolves.toEqual(['mail']);
      await client.run('mail', 1);
      await expect(rig.redis.get('functions')).resolves.toBe('of another program');
      expect(problems).toEqual([expect.stringContaining('"functions"')]);
    });

    it('is made anew when the key is free', async () => {
      await shown(client);
      await rig.redis.del('functions');
      await client.run('mail', 1);
      await until(() => noted('mail'));
      await expect(shown(client)).resolves.toEqual(['mail']);
    });
  });

  it('is not needed for functions that this process defines or handles', async () => {
    const client = rig.newClient();
    client.register(defineJob('defined'));
    client.addHandler('handled', {});
    await expect(shown(client)).resolves.toEqual(['defined', 'handled']);
    client.removeHandler('handled');
    await expect(shown(client)).resolves.toEqual(['defined']);
  });

  it('can be opened for additions only', async () => {
    await rig.redis.call(
      ...['ACL', 'SETUSER', 'adder', 'reset', 'on', '>secret', '+eval', '+evalsha', '+time'],
      '(+eval +evalsha +zadd ~functions)',
    );
    const adder = new Redis(rig.url.replace('//', '//adder:secret@'), { enableReadyCheck: false });
    try {
      new FunctionIndex(keysOf).note(async () => adder, ['mail']);
      await until(() => noted('mail'));
      for (const refused of [adder.zrem('functions', 'mail'), adder.del('functions')])
        await expect(refused).rejects.toThrow('NOPERM');
    } finally {
      adder.disconnect();
      await rig.redis.call('ACL', 'DELUSER', 'adder');
    }
  });
});
