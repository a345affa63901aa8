import { describe, expect, it } from '@jest/globals';
import {
  clientScript,
  COMMANDS,
  LEGACY_SCRIPTS,
  legacyScript,
  sourceScript,
  unifiedScript,
} from '../../lib/qless/wire/assemble.js';
import * as scripts from '../../lib/qless/wire/scripts.js';
import { globalsOf } from '../lua/lua-globals.js';
import { useQless } from './qless-rig.js';

const ALL = {
  put: 'put requeue put.absent pop peek complete complete.many fail retry heartbeat timeout cancel depends priority',
  look: 'tag track get multiget failed unfail jobs queues workers stats length log consistency.check',
  rest: 'worker.deregister queue.forget pause unpause config.get config.set config.unset recur recur.get recur.update recur.tag recur.untag unrecur',
};

describe('qless.lua', () => {
  const qless = useQless();

  it('has every command', () => {
    expect([...COMMANDS].sort()).toEqual(Object.values(ALL).join(' ').split(' ').sort());
  });

  it('refuses keys, a missing or unknown command, and a time that is no number', async () => {
    const text = unifiedScript();
    await expect(qless.redis.eval(text, 1, 'q', 'put', 0)).rejects.toThrow('No Keys should be provided');
    await expect(qless.redis.eval(text, 0)).rejects.toThrow('Must provide a command');
    await expect(qless.redis.eval(text, 0, 'jump', 'x')).rejects.toThrow('Unknown command jump');
    await expect(qless.redis.eval(text, 0, 'put put', 0)).rejects.toThrow('Unknown command put put');
    await expect(qless.redis.eval(text, 0, 'put', 'x')).rejects.toThrow(
      'Arg "now" missing or not a number: x',
    );
    await expect(qless.redis.eval(text, 0, 'put', 0)).rejects.toThrow(
      /user_script:\d+: Put\(\): Arg "worker" missing/,
    );
  });

  it('refuses with the text that existing clients know; our own form puts a code before it', async () => {
    const text = 'Cancel(): a is a dependency of b but is not mentioned to be canceled';
    await qless.q('put', 0, 'w', 'q', 'a', 'k', '{}', 0);
    await qless.q('put', 0, 'w', 'q', 'b', 'k', '{}', 0, 'depends', '["a"]');
    const unified = qless.redis.eval(unifiedScript(), 0, 'cancel', 0, 'a');
    await expect(unified).rejects.toThrow(new RegExp(`user_script:\\d+: ${text.replace(/[()]/g, '\\$&')}`));
    const own = (command: string, ...args: (string | number)[]) =>
      qless.redis.eval(clientScript(command), 1, 'ql:', 0, ...args);
    await expect(own('cancel', 'a')).rejects.toThrow(`QLESS_DEPENDENCY ${text}`);
    await expect(own('complete', 'a', 'w', 'q', '{}')).rejects.toThrow(
      'QLESS_STATE Complete(): Job a is not',
    );
    await expect(own('complete', 'none', 'w', 'q', '{}')).rejects.toThrow(
      'QLESS_JOB_NOT_FOUND Complete(): Job',
    );
    await expect(own('complete.many', 'w', 'q', 'a', '{}')).resolves.toEqual([
      'QLESS_STATE Complete(): Job a is not currently running: waiting',
    ]);
    await own('pop', 'q', 'w', 1);
    await expect(own('fail', 'a', 'other', 'g', 'm')).rejects.toThrow('QLESS_JOB_LOST Fail(): Job a running');
    await expect(own('put', 'w', 'q', 'c', 'k', '{}', 0, 'odd')).rejects.toThrow('QLESS_ARGUMENT Odd number');
  });

  it('has no line of a contract, and every part once in a scope', () => {
    expect(unifiedScript()).not.toMatch(/--\[|include/);
  });
});

describe('every script', () => {
  const qless = useQless();
  const SOURCES = ['claim', 'settle', 'renew', 'progress', 'withdraw'];
  const KNOWN =
    'ARGV KEYS cjson error ipairs math pairs pcall redis string table tonumber tostring type unpack';

  it.each<[name: string, text: string]>([
    ['qless.lua', unifiedScript()],
    ['qless-cluster.lua', unifiedScript('cluster')],
    ...COMMANDS.map((name): [string, string] => [name, clientScript(name)]),
    ...LEGACY_SCRIPTS.map((name): [string, string] => [`legacy/${name}`, legacyScript(name)]),
    ...SOURCES.map((name): [string, string] => [`source/${name}`, sourceScript(name)]),
  ] as const)('assigns nothing global and reads nothing but what any server has: %s', async (_, text) => {
    const { read, assigned } = await globalsOf(qless.redis, text);
    expect([...assigned]).toEqual([]);
    expect([...read].filter((name) => !KNOWN.split(' ').includes(name))).toEqual([]);
    expect(read).toContain('redis');
    expect(text).not.toMatch(/\b(table|string|math|redis|cjson)\.\w+ = /);
  });

  it('would be found out', async () => {
    const text = 'local a = {} if a.b then function c() return d end end';
    const { read, assigned } = await globalsOf(qless.redis, text);
    expect([[...read], [...assigned]]).toEqual([['d'], ['c']]);
  });
});

describe('qless-cluster.lua', () => {
  const qless = useQless();
  const text = unifiedScript('cluster');

  it('keeps every key and channel in one slot, and takes a key to be routed by', async () => {
    const events = await qless.events(async () => {
      await qless.redis.eval(text, 1, '{ql}:', 'put', 0, 'w', 'q', 'jid', 'k', '{}', 0, 'tags', '["a"]');
      await qless.redis.eval(text, 0, 'pop', 0, 'q', 'w', 1);
    });
    expect(events).toEqual([['{ql}:log', '{"jid":"jid","event":"put","queue":"q"}']]);
    const keys = await qless.redis.keys('*');
    expect(keys.length).toBeGreaterThan(5);
    expect(keys.filter((key) => !key.startsWith('{ql}:'))).toEqual([]);
  });

  it('refuses other keys', async () => {
    await expect(qless.redis.eval(text, 1, 'q', 'queues', 0)).rejects.toThrow('No Keys should be provided');
    await expect(qless.redis.eval(text, 2, '{ql}', '{ql}', 'queues', 0)).rejects.toThrow('No Keys should be');
  });
});

describe('the typed scripts', () => {
  const qless = useQless();
  const KEYS = ['{mine}:'];

  it('keep all keys under the prefix that is their key', async () => {
    await scripts.put.run(qless.redis, KEYS, 0, 'w', 'q', 'jid', 'k', '[]', 0, ['tags', '["a"]']);
    await scripts.pop.run(qless.redis, KEYS, 1, 'q', 'w', 1);
    await scripts.complete.run(qless.redis, KEYS, 2, 'jid', 'w', 'q', '[]', []);
    expect((await qless.redis.keys('*')).filter((key) => !key.startsWith('{mine}:'))).toEqual([]);
  });

  it('give true lists and null', async () => {
    await scripts.put.run(qless.redis, KEYS, 0, 'w', 'q', 'jid', 'k', '[]', 0, []);
    await expect(scripts.get.run(qless.redis, KEYS, 0, 'jid')).resolves.toEqual({
      jid: 'jid',
      klass: 'k',
      state: 'waiting',
      queue: 'q',
      worker: '',
      tracked: false,
      priority: 0,
      expires: 0,
      retries: 5,
      remaining: 5,
      data: '[]',
      tags: [],
      history: [{ what: 'put', when: 0, q: 'q' }],
      failure: null,
      spawnedFrom: null,
      dependents: [],
      dependencies: [],
    });
    await expect(scripts.get.run(qless.redis, KEYS, 0, 'gone')).resolves.toBeNull();
    await expect(
      scripts.putAbsent.run(qless.redis, KEYS, 0, 'w', 'q', 'jid', 'k', '[]', 0, []),
    ).resolves.toBeNull();
    await expect(scripts.pop.run(qless.redis, KEYS, 0, 'none', 'w', 5)).resolves.toEqual([]);
    await expect(scripts.queues.run(qless.redis, KEYS, 0)).resolves.toMatchObject([
      { name: 'q', paused: false },
    ]);
    await expect(scripts.workers.run(qless.redis, KEYS, 0)).resolves.toMatchObject([{ name: 'w' }]);
    await expect(scripts.worker.run(qless.redis, KEYS, 0, 'w')).resolves.toEqual({ jobs: [], stalled: [] });
    await expect(scripts.tracked.run(qless.redis, KEYS, 0)).resolves.toEqual({ jobs: [], expired: [] });
    await expect(scripts.topTags.run(qless.redis, KEYS, 0, 'top', 0, 5)).resolves.toEqual([]);
    await expect(scripts.tagged.run(qless.redis, KEYS, 0, 'get', 't', 0, 5)).resolves.toEqual({
      total: 0,
      jobs: [],
    });
    await expect(scripts.recurring.run(qless.redis, KEYS, 0, 'gone')).resolves.toBeNull();
    await expect(scripts.getConfig.run(qless.redis, KEYS, 0, 'gone')).resolves.toBeNull();
    await expect(scripts.checkConsistency.run(qless.redis, KEYS, 0, '', '')).resolves.toMatchObject({
      problems: [],
    });
  });

  it("use the server's time if none is given", async () => {
    await scripts.put.run(qless.redis, KEYS, '', 'w', 'q', 'jid', 'k', '{}', 0, []);
    const [seconds = 0] = await qless.redis.time();
    const { history } = (await scripts.get.run(qless.redis, KEYS, '', 'jid')) ?? { history: [] };
    expect(Math.abs(Number(history[0]?.when) - Number(seconds))).toBeLessThan(60);
  });

  it('wake one of those that wait for each job that comes to be had', async () => {
    await qless.redis.zadd('{mine}:idlers:q', 1, 'one', 2, 'two', 3, 'three');
    const wakes = () => qless.redis.lrange('{mine}:wake:q', 0, -1);
    await scripts.put.run(qless.redis, KEYS, 0, 'w', 'other', 'a', 'k', '{}', 0, []);
    await expect(wakes()).resolves.toEqual([]);
    await scripts.put.run(qless.redis, KEYS, 0, 'w', 'q', 'b', 'k', '{}', 0, []);
    await scripts.put.run(qless.redis, KEYS, 0, 'w', 'q', 'c', 'k', '{}', 10, []);
    await expect(wakes()).resolves.toHaveLength(2);
    await scripts.unpause.run(qless.redis, KEYS, 0, ['q']);
    await expect(wakes()).resolves.toHaveLength(3);
    await scripts.put.run(qless.redis, KEYS, 0, 'w', 'q', 'd', 'k', '{}', 0, []);
    await expect(wakes()).resolves.toHaveLength(3);
  });
});
