import { describe, expect, it } from '@jest/globals';
import { ownTagKeysOf, taggedKeysOf } from '../../lib/gearmonkey/core/wire/hash-tags.js';
import { keysOf } from '../../lib/gearmonkey/core/wire/protocol.js';
import { InvalidFunctionNameError } from '../../lib/job/errors.js';
import { slotOf } from '../../lib/redis/cluster-slots.js';
import { GearMonkeyClient, GearMonkeyModule } from '../../lib/index.js';
import { useApps } from '../support/use-apps.js';

const NOBODY_THERE = { nodes: [{ host: '127.0.0.1', port: 1 }] };

describe('names on a cluster without hashTag', () => {
  it('are refused without their own tag, with what to do', () => {
    expect(() => ownTagKeysOf('resize')).toThrow(InvalidFunctionNameError);
    expect(() => ownTagKeysOf('resize')).toThrow('Set `hashTag: true` in GearMonkeyModule.forRoot');
  });

  it('are used unchanged with a tag of their own', () => {
    expect(ownTagKeysOf('{media}:resize')).toEqual(keysOf('{media}:resize'));
  });
});

describe('names with hashTag', () => {
  it('that are only a tag are refused, since the braces are added', () => {
    expect(() => taggedKeysOf('{resize}')).toThrow('Call it "resize"');
  });

  it('become a tag', () => {
    expect(taggedKeysOf('mail:send')).toEqual(keysOf('{mail:send}'));
  });

  it('that have a tag of their own stay as they are', () => {
    expect(taggedKeysOf('{media}:resize')).toEqual(keysOf('{media}:resize'));
  });

  it.each(['resize', 'mail:send', '{media}:resize', 'größe'])('have all their keys in one slot: %s', (fn) => {
    const { channel: _, progress: __, cancel: ___, ...keys } = taggedKeysOf(fn);
    expect(new Set(Object.values(keys).map((key) => slotOf(`${key}x`))).size).toBe(1);
  });

  it('that share a tag share the slot', () => {
    expect(slotOf(taggedKeysOf('{media}:resize').wake)).toBe(slotOf(taggedKeysOf('{media}:cut').wake));
  });
});

describe('a module on a cluster', () => {
  const apps = useApps();

  it('refuses a name without a tag before it asks the cluster', async () => {
    const app = await apps.start({ imports: [GearMonkeyModule.forRoot({ connection: NOBODY_THERE })] });
    const client = app.get(GearMonkeyClient);
    await expect(client.run('resize', 1)).rejects.toThrow(InvalidFunctionNameError);
    await expect(client.get('resize', 1)).rejects.toThrow(InvalidFunctionNameError);
    await expect(client.cancel('resize', 1)).rejects.toThrow(InvalidFunctionNameError);
    await expect(client.rollCall('resize')).rejects.toThrow(InvalidFunctionNameError);
    await expect(client.call('resize', 1)).rejects.toThrow(InvalidFunctionNameError);
  });

  it('refuses a cluster without nodes', async () => {
    const starting = apps.start({ imports: [GearMonkeyModule.forRoot({ connection: { nodes: [] } })] });
    await expect(starting).rejects.toThrow('`connection.nodes` is empty');
  });

  it('rejects an enqueue at its deadline if the cluster cannot be reached', async () => {
    const options = { connection: NOBODY_THERE, hashTag: true, enqueueTimeout: 300 };
    const app = await apps.start({ imports: [GearMonkeyModule.forRoot(options)] });
    await expect(app.get(GearMonkeyClient).run('resize', 1)).rejects.toMatchObject({
      code: 'ENQUEUE_TIMEOUT',
    });
  });
});
