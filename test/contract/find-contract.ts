import { describe, expect, it } from '@jest/globals';
import type { GearMonkeyClient } from '../../lib/gearmonkey/client.js';
import { defineJob } from '../../lib/job/job-definition.js';
import type { FindOptions } from '../../lib/job/job-views.js';
import { claimOne, claimUpTo, failure, retry, success } from './claiming.js';
import type { ClientRig } from './rig.js';

const HOUR_MS = 3_600_000;
const TAGS = ['order:7', 'tenant:acme'];

/** The part of the client's contract that is about finding jobs by tag, key and id. */
export function findContract(rigOf: () => ClientRig): void {
  const found = async (client: GearMonkeyClient, fn: string, options: FindOptions) =>
    (await client.find(fn, { order: 'oldest', ...options })).jobs.map(({ id, state }) => `${id} ${state}`);

  describe('find', () => {
    it.each([
      [{}, 'CONFIGURATION'],
      [{ tag: 'a', key: 'b' }, 'CONFIGURATION'],
      [{ tag: '' }, 'INVALID_OPTION'],
      [{ tag: 'a\0b' }, 'INVALID_OPTION'],
      [{ tag: 'x'.repeat(129) }, 'INVALID_OPTION'],
      [{ tag: '\ud800' }, 'INVALID_OPTION'],
      [{ key: '' }, 'INVALID_OPTION'],
      [{ id: {} }, 'INVALID_OPTION'],
      [{ tag: 'a', order: 'up' }, 'INVALID_OPTION'],
      [{ tag: 'a', size: 101 }, 'INVALID_OPTION'],
      [{ tag: 'a', page: 7 }, 'INVALID_OPTION'],
    ])('refuses %p', async (options, code) => {
      const refused = rigOf()
        .client()
        .find('fn', options as FindOptions);
      await expect(refused).rejects.toMatchObject({ code });
    });

    it.each([
      ['text'],
      [[1]],
      [['']],
      [['a\n']],
      [['x'.repeat(129)]],
      [Array(17).fill('a')],
      [Promise.resolve(['a'])],
      [Array(1)],
    ])('refuses to enqueue with the tags %p', async (tags) => {
      const fn = rigOf().fn();
      const client = rigOf().client();
      const refused = client.run(fn, 1, { tags: tags as string[] });
      await expect(refused).rejects.toMatchObject({ code: 'INVALID_OPTION' });
      await expect(client.list(fn, { state: 'waiting' })).resolves.toMatchObject({ total: 0 });
    });

    it('finds the jobs of a tag in every state', async () => {
      const fn = rigOf().fn();
      const [client, source] = [rigOf().client(), rigOf().source()];
      await source.open([fn]);
      const next = async () => (await client.run(fn, { n: 1 }, { tags: TAGS })).id;
      await next();
      await source.settle([success(await claimOne(source, fn), '"out"')]);
      await next();
      await source.settle([failure(await claimOne(source, fn), 'broken')]);
      await next();
      await source.settle([retry(await claimOne(source, fn), HOUR_MS)]);
      await next();
      const running = await claimOne(source, fn);
      await (await client.run(fn, 1, { tags: TAGS })).cancel();
      await client.run(fn, 1, { tags: TAGS, delay: HOUR_MS });
      await next();
      await client.run(fn, 1, { tags: ['other'] });
      await client.run(fn, 1);
      const all = [
        ...['1 succeeded', '2 failed', '3 retrying', '4 running', '5 cancelled', '6 scheduled', '7 waiting'],
      ];
      for (const tag of TAGS) expect(await found(client, fn, { tag })).toEqual(all);
      expect(await found(client, fn, { tag: 'tenant:acme', order: 'newest' })).toEqual(all.toReversed());
      expect(await found(client, fn, { tag: 'order' })).toEqual([]);
      expect(await found(client, fn, { tag: 'other' })).toEqual(['8 waiting']);
      expect(running.options.tags).toEqual(TAGS);
      for (const entry of all) {
        const [id = '', state] = entry.split(' ');
        expect((await client.find(fn, { id })).jobs).toMatchObject([{ id, state, tags: TAGS }]);
      }
      await expect(client.find(fn, { id: 99 })).resolves.toEqual({ jobs: [], total: 0 });
      await expect(client.get(fn, 1)).resolves.toMatchObject({ tags: TAGS });
    });

    it('reads pages in both orders, also of ids of different lengths', async () => {
      const fn = rigOf().fn();
      const client = rigOf().client();
      const handles = await client.runMany(fn, Array(25).fill(1), { tags: ['many', 'many'] });
      const ids = handles.map(({ id }) => id);
      for (const [order, expected] of [
        ['oldest', ids],
        ['newest', ids.toReversed()],
      ] as const) {
        const read: string[] = [];
        let page: string | undefined = '';
        while (page !== undefined) {
          const list = await client.find(fn, { tag: 'many', order, size: 10, page });
          expect(list.total).toBe(25);
          read.push(...list.jobs.map(({ id }) => id));
          page = list.next;
        }
        expect(read).toEqual(expected);
      }
    });

    it('leaves out jobs that are gone', async () => {
      const fn = rigOf().fn();
      const client = rigOf().client();
      await client.runMany(fn, [1, 2, 3], { tags: ['few'] });
      await rigOf().deleteHash(fn, '2');
      const { jobs, total } = await client.find(fn, { tag: 'few', payloads: true });
      expect(jobs.map(({ id, input }) => [id, input?.text])).toEqual([
        ['3', '3'],
        ['1', '1'],
      ]);
      expect(total).toBe(2);
    });

    it('finds limited jobs by tag and by key', async () => {
      const job = defineJob<string>(rigOf().fn(), { limit: { key: (input) => input, concurrency: 1 } });
      const [client, source] = [rigOf().client(), rigOf().source()];
      await source.open([job.name]);
      client.register(job);
      await client.runMany(job, ['a', 'a', 'b', 'a'], { tags: ['both'] });
      await client.run(job, 'a', { delay: HOUR_MS, tags: ['both'] });
      const [first] = await claimUpTo(source, job.name, 1);
      expect(first?.id).toBe('1');
      const ofKey = ['1 running', '2 waiting', '4 waiting', '5 scheduled'];
      expect(await found(client, job.name, { key: 'a' })).toEqual(ofKey);
      expect(await found(client, job.name, { key: 'b' })).toEqual(['3 waiting']);
      expect(await found(client, job.name, { key: 'c' })).toEqual([]);
      expect(await found(client, job.name, { tag: 'both' })).toEqual([
        ...['1 running', '2 waiting', '3 waiting', '4 waiting', '5 scheduled'],
      ]);
      const { jobs, next } = await client.find(job, { key: 'a', order: 'oldest', size: 2 });
      expect([jobs.map(({ id }) => id), next]).toEqual([['1', '2'], '2']);
      const rest = await client.find(job, { key: 'a', order: 'oldest', size: 2, page: next });
      expect([rest.jobs.map(({ id }) => id), rest.next]).toEqual([['4', '5'], undefined]);
    });

    it('finds the last job with a unique key, and the tags of a debounced one', async () => {
      const fn = rigOf().fn();
      const client = rigOf().client();
      await client.run(fn, 1, { unique: { key: 'k' }, tags: ['u'] });
      expect(await found(client, fn, { key: 'k' })).toEqual(['1 waiting']);
      expect(await found(client, fn, { tag: 'u' })).toEqual(['1 waiting']);
      const debounced = (tag: string) =>
        client.run(fn, 1, { unique: { key: 'd', debounce: '1h' }, tags: [tag] });
      await debounced('first');
      await debounced('second');
      expect(await found(client, fn, { tag: 'second' })).toEqual(['2 scheduled']);
      expect(await found(client, fn, { tag: 'first' })).toEqual([]);
    });

    it('finds jobs by tags that are no plain words, and is not misled by headers', async () => {
      const fn = rigOf().fn();
      const client = rigOf().client();
      const strange = ['"],"tags":["x', '\\', '日本', '%d[', '*', '__proto__'];
      await client.run(fn, 1, { tags: strange, headers: { tags: 'x', a: '"tags":["x"]' } });
      await client.run(fn, 1, { headers: { tags: 'x', a: '"tags":["x"]' } });
      for (const tag of strange) expect(await found(client, fn, { tag })).toEqual(['1 waiting']);
      expect(await found(client, fn, { tag: 'x' })).toEqual([]);
    });

    it('retries and discards the failed jobs of a tag alone', async () => {
      const fn = rigOf().fn();
      const [client, source] = [rigOf().client(), rigOf().source()];
      await source.open([fn]);
      await client.runMany(fn, [1, 2, 3], { tags: ['mine'] });
      await client.runMany(fn, [4, 5], { tags: ['other'] });
      const claims = await claimUpTo(source, fn, 5);
      await source.settle(
        claims.map((claim) => (claim.id === '3' ? success(claim, '3') : failure(claim, 'no'))),
      );
      await expect(client.retry(fn, { state: 'failed', tag: 'mine' }).done).resolves.toBe(2);
      expect(await found(client, fn, { tag: 'mine' })).toEqual(['1 waiting', '2 waiting', '3 succeeded']);
      await expect(client.discard(fn, { state: 'failed', tag: 'mine' }).done).resolves.toBe(0);
      await expect(client.discard(fn, { state: 'failed', tag: 'other' }).done).resolves.toBe(2);
      expect(await found(client, fn, { tag: 'other' })).toEqual([]);
      expect(() => client.retry(fn, { state: 'failed', tag: '' })).toThrow('`tag`');
    });
  });
}
