import { beforeEach, describe, expect, it } from '@jest/globals';
import { GearMonkeyClient } from '../../../lib/gearmonkey/client.js';
import type { RunOptions } from '../../../lib/gearmonkey/core/client/run-options.js';
import type { EnqueuedKey, Placement } from '../../../lib/gearmonkey/core/client/job-store.js';
import type { GearMonkeyStore } from '../../../lib/gearmonkey/features/index.js';
import { limitedJobsIn, type LimitedJob } from '../../../lib/gearmonkey/features/limits/placed-limit.js';
import type { LimitStore } from '../../../lib/gearmonkey/features/limits/limit-store.js';

import { checkLimit } from '../../../lib/job/check-limit.js';
import type { Payload } from '../../../lib/job/codec.js';
import { defineJob } from '../../../lib/job/job-definition.js';
import type { LimitNumbers } from '../../../lib/job/limit.js';
import { EmbeddedStore } from '../../embedded/embedded-store.js';
import { z } from 'zod';

/** Keeps what a client asks of its server. */
class KeepingStore extends EmbeddedStore implements GearMonkeyStore {
  readonly placed: ((LimitedJob['limit'] & { readonly keys: string[] }) | undefined)[] = [];
  readonly asked: unknown[] = [];

  override async enqueue(
    fn: string,
    inputs: readonly Payload[],
    placement: Placement,
  ): Promise<EnqueuedKey[]> {
    const each = limitedJobsIn(placement)?.each;
    this.placed.push(each?.[0] && { ...each[0].limit, keys: each.map(({ key }) => key) });
    const { queue, options = '' } = placement;
    return super.enqueue(fn, inputs, { queue, options });
  }

  override readonly limits: LimitStore = {
    read: async (fn, query) => {
      this.asked.push(['limits', fn, query]);
      return [];
    },
    set: async (fn, numbers) => void this.asked.push(['setLimit', fn, numbers]),
    sharing: async (fn) => ({ functions: [fn], unread: [] }),
  };
}

const limit = { key: (input: { tenant: string }) => input.tenant, concurrency: 2 };
const mail = defineJob<{ tenant: string }>('mail', { limit: { ...limit, onFull: 'refuse' } });
const ordered = defineJob<{ tenant: string }>('ordered', { limit: { key: limit.key, order: 'strict' } });

describe('A client', () => {
  let store: KeepingStore;
  let client: GearMonkeyClient;
  beforeEach(() => {
    store = new KeepingStore();
    client = new GearMonkeyClient(store);
  });

  it('gives the limit of a definition and the key of each job to its store', async () => {
    await client.run(mail, { tenant: 'acme' });
    await client.runMany(mail, [{ tenant: 'a' }, { tenant: 'b' }, { tenant: 'a' }]);
    await client.run('unlimited', {});
    const placed = { rules: { concurrency: 2, order: 'fair' }, onFull: 'refuse', replace: 'waiting' };
    expect(store.placed).toEqual([
      { ...placed, keys: ['acme'] },
      { ...placed, keys: ['a', 'b', 'a'] },
      undefined,
    ]);
  });

  it('knows the limit by the name of a registered definition', async () => {
    client.register(mail);
    await client.run('mail', { tenant: 'acme' });
    expect(store.placed).toMatchObject([{ keys: ['acme'] }]);
  });

  it('applies the limit of a handler before that of the definition, in clients of feature modules too', async () => {
    const feature = client.only([mail]);
    client.addHandler('mail', { limit: checkLimit('mail', { rate: { max: 1, per: 5 } }) });
    await feature.run(mail, { tenant: 'acme' });
    client.removeHandler('mail');
    await client.run(mail, { tenant: 'acme' });
    expect(store.placed).toMatchObject([
      { rules: { rate: { max: 1, per: 5 } }, onFull: 'wait', keys: [''] },
      { rules: { concurrency: 2 }, onFull: 'refuse', keys: ['acme'] },
    ]);
  });

  it('enqueues nothing if a key can’t be made', async () => {
    const bad = { tenant: 7 } as object as { tenant: string };
    await expect(client.run(mail, bad)).rejects.toMatchObject({ code: 'LIMIT_KEY' });
    await expect(client.runMany(mail, [{ tenant: 'a' }, bad])).rejects.toMatchObject({ code: 'LIMIT_KEY' });
    expect(store.placed).toEqual([]);
  });

  it.each(['refuse', 'replace'] as const)(
    'makes no job unique whose limit says onFull: %j',
    async (onFull) => {
      const unique = { key: 'one' };
      const once = defineJob<{ tenant: string }>('once', { limit: { ...limit, onFull } });
      const refused = { option: 'unique', message: expect.stringContaining(`onFull: '${onFull}'`) };
      await expect(client.run(once, { tenant: 'a' }, { unique })).rejects.toMatchObject(refused);
      await expect(client.runMany(once, [{ tenant: 'a' }], { unique })).rejects.toMatchObject(refused);
      expect(store.placed).toEqual([]);
      const waits = defineJob<{ tenant: string }>('waits', { limit });
      await client.run(waits, { tenant: 'a' }, { unique });
      expect(store.placed).toEqual([undefined]);
    },
  );

  it('checks the input before its key', async () => {
    const checked = defineJob('checked', {
      input: z.object({ user: z.object({ id: z.string() }) }),
      limit: { key: ({ user }) => user.id, concurrency: 1 },
    });
    await expect(client.run(checked, {} as never)).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
  });

  it.each(['high', 'low'] as const)('refuses the priority %p where the order is strict', async (priority) => {
    const input = { tenant: 'acme' };
    await expect(client.run(ordered, input, { priority })).rejects.toThrow(
      'Expected `priority` to be absent',
    );
    await expect(client.runMany(ordered, [input], { priority })).rejects.toMatchObject({
      option: 'priority',
    });
    expect(store.placed).toEqual([]);
    await client.run(mail, input, { priority });
    expect(store.placed).toHaveLength(1);
  });

  it.each<[RunOptions]>([[{}], [{ priority: 'normal' }], [{ delay: 5 }]])(
    'takes %p where the order is strict',
    async (options) => {
      await client.run(ordered, { tenant: 'acme' }, options);
      expect(store.placed).toMatchObject([{ rules: { order: 'strict' } }]);
    },
  );

  it('asks for keys of a limit: 100, or one, or more', async () => {
    await client.limits(mail);
    await client.limits('mail', { key: 'acme', size: 1000 });
    await client.limits('mail', { key: '' });
    expect(store.asked).toEqual([
      ['limits', 'mail', { size: 100 }],
      ['limits', 'mail', { key: 'acme', size: 1000 }],
      ['limits', 'mail', { key: '', size: 100 }],
    ]);
  });

  it.each<[string, object]>([
    ['key', { key: 7 }],
    ['key', { key: 'x'.repeat(256) }],
    ['key', { key: '\ud800' }],
    ['size', { size: 0 }],
    ['size', { size: 1001 }],
    ['size', { size: '5' }],
  ])('refuses to read limits with a bad `%s`: %p', async (option, options) => {
    await expect(client.limits(mail, options)).rejects.toMatchObject({ code: 'INVALID_OPTION', option });
    expect(store.asked).toEqual([]);
  });

  it('sets other numbers, and resets them', async () => {
    await client.setLimit(mail, { concurrency: 5, rate: { max: 7, per: '1m' } });
    await client.setLimit('unknown', { concurrency: 1 });
    await client.setLimit(ordered, { rate: { max: 7, per: 1 } });
    await client.resetLimit(mail);
    expect(store.asked).toEqual([
      ['setLimit', 'mail', { concurrency: 5, rate: { max: 7, per: 60_000 } }],
      ['setLimit', 'unknown', { concurrency: 1 }],
      ['setLimit', 'ordered', { rate: { max: 7, per: 1 } }],
      ['setLimit', 'mail', undefined],
    ]);
  });

  it.each<[string, typeof mail, object]>([
    ['setLimit', mail, {}],
    ['concurrency', mail, { concurrency: 0 }],
    ['rate.max', mail, { rate: { max: 0, per: 1 } }],
    ['rate.per', mail, { rate: { max: 1, per: 'soon' } }],
    ['concurrency', ordered, { concurrency: 2 }],
  ])('refuses to set a bad `%s`', async (option, definition, numbers) => {
    await expect(client.setLimit(definition, numbers as LimitNumbers)).rejects.toMatchObject({ option });
    expect(store.asked).toEqual([]);
  });

  it('refuses options that don’t exist', async () => {
    const unknown = { sise: 1 } as object;
    await expect(client.limits(mail, unknown)).rejects.toThrow(
      'limits has no option `sise`. Did you mean `size`?',
    );
    const order = { order: 'fair' } as object;
    await expect(client.setLimit(mail, order)).rejects.toThrow('setLimit has no option `order`');
  });
});
