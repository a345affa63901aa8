import { describe, expect, it } from '@jest/globals';
import type { RunOptions } from '../../lib/gearmonkey/core/client/run-options.js';
import { defineJob } from '../../lib/job/job-definition.js';
import type { UniqueOptions } from '../../lib/job/unique.js';
import { SlotTable } from '../../lib/worker/function-slots.js';
import { gate } from '../support/gate.js';
import { runWorker } from '../support/run-worker.js';
import { eventually, until } from '../support/until.js';
import { claimInOrder, claimOne, failure, inputOf, released, retry, snoozed, success } from './claiming.js';
import { MAX_STALLS, pass, spanOf, subscribed, type ClientRig } from './rig.js';

const KEY = 'order 7';
const UNFINISHED: RunOptions = { unique: { key: KEY } };
const WAITING: RunOptions = { unique: { key: KEY, while: 'waiting' } };
/** Longer than a test takes. */
const LONG = '1h';

/** The part of the client's contract that is about jobs with a unique key. */
export function uniqueContract(rigOf: () => ClientRig): void {
  describe('a unique job', () => {
    /** A function, a client, and a source that claims one job at a time. */
    const setup = () => ({ fn: rigOf().fn(), client: rigOf().client(), source: rigOf().source() });

    describe('while it has not finished', () => {
      it('stands for new ones of its key: they create none, and nothing of them is used', async () => {
        const { fn, client, source } = setup();
        const first = await client.run(fn, 'first', UNFINISHED);
        const second = await rigOf()
          .client()
          .run(fn, 'second', { ...UNFINISHED, priority: 'high', headers: { tenant: 'acme' }, expires: '1m' });
        expect([first.created, second.created, second.id]).toEqual([true, false, first.id]);
        await expect(second.get()).resolves.toMatchObject({ input: 'first', headers: {} });
        expect((await second.get()).times.expires).toBeUndefined();
        await client.run(fn, 'last');
        await expect(claimInOrder(source, fn, 2)).resolves.toEqual(['"first"', '"last"']);
        await source.close();
      });

      it('stands for them while it runs, and while it waits for another run', async () => {
        const { fn, client, source } = setup();
        const job = await client.run(fn, 'x', UNFINISHED);
        const again = async () => {
          const { id, created } = await client.run(fn, 'again', UNFINISHED);
          expect([id, created]).toEqual([job.id, false]);
        };
        for (const outcome of [retry, snoozed]) {
          const claim = await claimOne(source, fn);
          await again();
          await source.settle([outcome(claim, 0)]);
          await again();
        }
        await source.settle([released(await claimOne(source, fn))]);
        await again();
        await source.settle([success(await claimOne(source, fn))]);
        await expect(client.run(fn, 'next', UNFINISHED)).resolves.toMatchObject({ id: '2', created: true });
        await source.close();
      });

      it('stands for them while it is scheduled', async () => {
        const { fn, client } = setup();
        const job = await client.run(fn, 'x', { ...UNFINISHED, delay: LONG });
        await expect(client.run(fn, 'y', UNFINISHED)).resolves.toMatchObject({ id: job.id, created: false });
      });

      it.each<[string, (rig: ClientRig, fn: string) => Promise<unknown>]>([
        [
          'failed',
          async (rig, fn) => {
            const source = rig.source();
            await source.settle([failure(await claimOne(source, fn), 'no')]);
            await source.close();
          },
        ],
        ['was cancelled', async (rig, fn) => expect(await rig.client().cancel(fn, 1)).toBe(true)],
        ['was drained', async (rig, fn) => expect(await rig.client().drain(fn)).toBe(1)],
        [
          'was cancelled while it ran',
          async (rig, fn) => {
            const source = rig.source();
            const claim = await claimOne(source, fn);
            await rig.client().cancel(fn, 1);
            await source.settle([retry(claim, 0)]);
            await source.close();
          },
        ],
        [
          'stalled for good',
          async (rig, fn) => {
            const source = rig.source({ lease: spanOf(rig) });
            for (let stall = 0; stall <= MAX_STALLS; stall++) {
              await claimOne(source, fn);
              await pass(rig, spanOf(rig));
            }
            const abort = new AbortController();
            const none = source.claim(new SlotTable([[fn, 1]]), abort.signal);
            await eventually(async () =>
              expect(await rig.stored(fn, '1')).toMatchObject({ code: 'JOB_STALLED' }),
            );
            abort.abort();
            await none;
            await source.close();
          },
        ],
      ])('stands for none any more after it %s', async (_, end) => {
        const { fn, client } = setup();
        await client.run(fn, 'x', UNFINISHED);
        await end(rigOf(), fn);
        await expect(client.run(fn, 'y', UNFINISHED)).resolves.toMatchObject({ created: true });
      });

      it('stands for none any more once it has expired, though no worker has found that out', async () => {
        const { fn, client } = setup();
        const job = await client.run(fn, 'x', { ...UNFINISHED, expires: 1 });
        await eventually(async () =>
          expect(await client.run(fn, 'y', UNFINISHED)).toMatchObject({ id: '2', created: true }),
        );
        await expect(job.get()).resolves.toMatchObject({ state: 'failed', error: { code: 'JOB_EXPIRED' } });
      });

      it('is created once, however many clients ask at once', async () => {
        const { fn } = setup();
        const clients = Array.from({ length: 5 }, () => rigOf().client());
        const asked = Array.from({ length: 1000 }, (_, i) => clients[i % 5]?.run(fn, i, UNFINISHED));
        const jobs = await Promise.all(asked);
        expect(jobs.filter((job) => job?.created)).toHaveLength(1);
        expect(new Set(jobs.map((job) => job?.id))).toEqual(new Set(['1']));
      });
    });

    it('that may only stand for others while it waits does so until it runs, and when it is to run again', async () => {
      const { fn, client, source } = setup();
      const first = await client.run(fn, 'first', WAITING);
      await expect(client.run(fn, 'x', WAITING)).resolves.toMatchObject({ id: first.id, created: false });
      const claim = await claimOne(source, fn);
      const second = await client.run(fn, 'second', WAITING);
      expect([second.id, second.created]).toEqual(['2', true]);
      await source.settle([success(claim)]);
      await source.settle([retry(await claimOne(source, fn), 3_600_000)]);
      await expect(client.run(fn, 'x', WAITING)).resolves.toMatchObject({ id: '2', created: false });
      await source.close();
    });

    describe('with a throttle', () => {
      it('stands for others of its span, even after its end', async () => {
        const { fn, client, source } = setup();
        const options: RunOptions = { unique: { key: KEY, throttle: LONG } };
        const first = await client.run(fn, 'first', options);
        await source.settle([success(await claimOne(source, fn), '"out"')]);
        const second = await client.run(fn, 'second', options);
        expect([second.id, second.created]).toEqual([first.id, false]);
        await expect(second.result()).resolves.toBe('out');
        await expect(client.call(fn, 'third', options)).resolves.toBe('out');
        await source.close();
      });

      it('is followed by another when its span is over, finished or not', async () => {
        const { fn, client } = setup();
        const span = spanOf(rigOf());
        const options: RunOptions = { unique: { key: KEY, throttle: span } };
        const began = performance.now();
        const jobs = [await client.run(fn, 0, options)];
        for (let last = jobs[0]; jobs.length === 1 || !last?.created; jobs.push(last)) {
          last = await client.run(fn, jobs.length, options);
          if (!last.created) await pass(rigOf(), span / 4);
        }
        // The server's span lies between these two times; its clock counts whole milliseconds.
        expect(performance.now() - began).toBeGreaterThanOrEqual(span - 2);
        const last = await jobs.at(-1)?.get();
        expect([last?.id, last?.input]).toEqual(['2', jobs.length - 1]);
      });
    });

    describe('with a debounce', () => {
      const debounced = (
        debounce: UniqueOptions['debounce'],
        maxWait?: UniqueOptions['maxWait'],
      ): RunOptions => ({
        unique: { key: KEY, debounce, ...(maxWait === undefined ? {} : { maxWait }) },
      });

      it('takes input and options of the last call, which restarts its delay', async () => {
        const { fn, client } = setup();
        const first = await client.run(fn, 'first', {
          ...debounced('1h'),
          headers: { by: 'first' },
          expires: '1m',
        });
        const before = Date.now();
        const last = await client.run(fn, 'last', { ...debounced('2h'), headers: { by: 'last' } });
        expect([first.created, last.created, last.id]).toEqual([true, false, first.id]);
        const { input, headers, times } = await first.get();
        expect([input, { ...headers }, times.expires]).toEqual(['last', { by: 'last' }, undefined]);
        const due = times.scheduled?.getTime() ?? 0;
        expect(due).toBeGreaterThanOrEqual(before + 7_200_000 - 5);
        expect(due).toBeLessThanOrEqual(Date.now() + 7_200_000 + 5);
        await client.run(fn, 'bare', debounced('1h'));
        await expect(first.get()).resolves.toMatchObject({ input: 'bare', headers: {} });
      });

      it('runs once, with the last input', async () => {
        const { fn, client } = setup();
        const inputs: unknown[] = [];
        const span = spanOf(rigOf());
        await runWorker(rigOf().source(), fn, (input) => inputs.push(input));
        for (let i = 0; i < 20; i++) {
          await client.run(fn, i, debounced(span));
          await pass(rigOf(), span / 2);
        }
        const last = await client.run(fn, 'last', debounced(span));
        await pass(rigOf(), span);
        await last.result({ timeout: '20s' });
        expect(inputs.at(-1)).toBe('last');
        if (rigOf().pass) expect(inputs).toEqual(['last']);
        else expect(inputs.length).toBeLessThan(20);
      });

      it('waits at most its longest time', async () => {
        const { fn, client } = setup();
        const job = await client.run(fn, 0, debounced('1h', '90m'));
        // The server counts from when the job reached it: after it was created, and before the client has the reply.
        const reached = Date.now();
        const { created, scheduled } = (await job.get()).times;
        await client.run(fn, 1, debounced('85m', '90m'));
        const later = (await job.get()).times.scheduled?.getTime() ?? 0;
        expect(Math.abs(later - (scheduled?.getTime() ?? 0) - 25 * 60_000)).toBeLessThan(60_000);
        await client.run(fn, 2, debounced('89m', '89m'));
        const last = (await job.get()).times.scheduled?.getTime() ?? 0;
        expect(last - 89 * 60_000).toBeGreaterThanOrEqual((created?.getTime() ?? Infinity) - 1);
        expect(last - 89 * 60_000).toBeLessThanOrEqual(reached + 1);
        await expect(job.get()).resolves.toMatchObject({ input: 2 });
      });

      it('that has begun is not changed: the next call creates another', async () => {
        const { fn, client, source } = setup();
        const first = await client.run(fn, 'first', debounced(1));
        const claim = await claimOne(source, fn);
        const second = await client.run(fn, 'second', debounced(LONG));
        expect([second.id, second.created]).toEqual(['2', true]);
        await source.settle([retry(claim, 3_600_000)]);
        await expect(client.run(fn, 'third', debounced(LONG))).resolves.toMatchObject({
          id: '2',
          created: false,
        });
        await expect(first.get()).resolves.toMatchObject({ input: 'first' });
        await expect(second.get()).resolves.toMatchObject({ input: 'third' });
        await source.close();
      });

      it('that a worker gave back without running it is changed', async () => {
        const { fn, client, source } = setup();
        const job = await client.run(fn, 'first', debounced(1));
        await source.settle([released(await claimOne(source, fn))]);
        await expect(client.run(fn, 'second', debounced(1))).resolves.toMatchObject({
          id: job.id,
          created: false,
        });
        expect(inputOf(await claimOne(source, fn))).toBe('"second"');
        await source.close();
      });

      it('that is due and waits for a worker is changed', async () => {
        const { fn, client, source } = setup();
        const first = await client.run(fn, 'first', debounced(1));
        await until(async () => ((await first.get()).times.scheduled?.getTime() ?? Infinity) < Date.now());
        await expect(client.run(fn, 'second', debounced(1))).resolves.toMatchObject({
          id: '1',
          created: false,
        });
        expect(inputOf(await claimOne(source, fn))).toBe('"second"');
        await source.close();
      });

      it('leaves a job that waits in another queue unchanged, and creates one', async () => {
        const { fn, client } = setup();
        const first = await client.run(fn, 'first', UNFINISHED);
        await expect(client.run(fn, 'second', debounced(LONG))).resolves.toMatchObject({
          id: '2',
          created: true,
        });
        await expect(first.get()).resolves.toMatchObject({ input: 'first' });
      });
    });

    it('gives its output to all calls that wait for it', async () => {
      const { fn, client } = setup();
      const end = gate();
      await runWorker(rigOf().source(), fn, (input) => end.passed.then(() => input));
      const plain = await client.run(fn, 'x', UNFINISHED);
      const clients = [client, rigOf().client(), rigOf().client()];
      const others = clients.map((other) => other.call(fn, 'y', { ...UNFINISHED, timeout: '20s' }));
      const blocking = client.run(fn, 'z', { ...UNFINISHED, blocking: true, timeout: '20s' });
      // A client's calls arrive in their order.
      await Promise.all(clients.map((other) => other.run(fn, 'after', UNFINISHED)));
      end.open();
      await expect(Promise.all(others)).resolves.toEqual(['x', 'x', 'x']);
      await expect(blocking).resolves.toMatchObject({ id: plain.id, created: false });
    });

    it('expires for a call that found it', async () => {
      const { fn, client } = setup();
      const { id } = await client.run(fn, 'x', { ...UNFINISHED, expires: spanOf(rigOf()) });
      const other = rigOf().client();
      const call = other.call(fn, 'y', { ...UNFINISHED, expires: LONG, timeout: '1m' });
      // It may end while time passes.
      const ended = expect(call).rejects.toMatchObject({
        code: 'JOB_FAILED',
        cause: { code: 'JOB_EXPIRED' },
      });
      // A client's calls arrive in their order: the job was found by then.
      await expect(other.run(fn, 'z', UNFINISHED)).resolves.toMatchObject({ id, created: false });
      await pass(rigOf(), spanOf(rigOf()));
      await ended;
    });

    it('of many that are enqueued together is the first of its key, and others keep their order', async () => {
      const { fn, client, source } = setup();
      const events: string[] = [];
      const watching = client.events(fn).subscribe(({ type, id }) => events.push(`${type} ${id}`));
      await subscribed(rigOf(), fn);
      await client.run(fn, 'there', { unique: { key: 'c' } });
      await eventually(() => expect(events).toEqual(['create 1']));
      const inputs = ['a', 'b', 'a2', 'c', 'd'];
      const jobs = await client.runMany(fn, inputs, {
        unique: { key: (input) => String(input).slice(0, 1) },
      });
      expect(jobs.map(({ id, created }) => [id, created])).toEqual([
        ['2', true],
        ['3', true],
        ['2', false],
        ['1', false],
        ['4', true],
      ]);
      await expect(claimInOrder(source, fn, 4)).resolves.toEqual(['"there"', '"a"', '"b"', '"d"']);
      await eventually(() => expect(events).toContain('finish 4'));
      expect(events.filter((event) => event.startsWith('create'))).toEqual(
        [1, 2, 3, 4].map((id) => `create ${id}`),
      );
      watching.unsubscribe();
      await source.close();
    });

    it('keeps its place among others that are enqueued in the same tick', async () => {
      const { fn, client, source } = setup();
      const inputs = Array.from({ length: 30 }, (_, i) => i);
      await Promise.all(inputs.map((i) => client.run(fn, i, i % 3 === 0 ? { unique: { key: `${i}` } } : {})));
      await expect(claimInOrder(source, fn, 30)).resolves.toEqual(inputs.map(String));
      await source.close();
    });

    it('has the last input of many that are debounced together', async () => {
      const { fn, client } = setup();
      const [job] = await client.runMany(fn, ['a', 'b', 'c'], { unique: { key: KEY, debounce: LONG } });
      const again = await client.runMany(fn, ['d', 'e'], { unique: { key: KEY, debounce: LONG } });
      expect(again.map(({ id, created }) => [id, created])).toEqual([
        ['1', false],
        ['1', false],
      ]);
      await expect(job?.get()).resolves.toMatchObject({ input: 'e' });
    });

    it('may be one of more than fit into a call', async () => {
      const { fn, client } = setup();
      const inputs = Array.from({ length: 1500 }, (_, i) => i);
      const jobs = await client.runMany(fn, inputs, { unique: { key: (input) => `${Number(input) % 700}` } });
      expect(jobs.filter(({ created }) => created)).toHaveLength(700);
      expect(new Set(jobs.map(({ id }) => id)).size).toBe(700);
      for (const at of [0, 699, 1499]) {
        const read = await jobs[at]?.get();
        expect(Number(read?.input) % 700).toBe(at % 700);
      }
    });

    it('is made so by its definition, unless the call says otherwise', async () => {
      const { fn, client } = setup();
      const order = defineJob<{ order: number }>(fn, { unique: { key: ({ order: number }) => `${number}` } });
      const run = async (input: { order: number }, options?: RunOptions<{ order: number }>) => {
        const { id, created } = await client.run(order, input, options);
        return [id, created];
      };
      expect(await run({ order: 1 })).toEqual(['1', true]);
      expect(await run({ order: 2 })).toEqual(['2', true]);
      expect(await run({ order: 1 })).toEqual(['1', false]);
      expect(await run({ order: 1 }, { unique: { key: 'another' } })).toEqual(['3', true]);
      expect(
        await run({ order: 1 }, { unique: { key: (input) => `${input.order}`, while: 'waiting' } }),
      ).toEqual(['1', false]);
      expect(await run({ order: 1 }, { unique: false })).toEqual(['4', true]);
    });

    it.each([
      '__proto__',
      'constructor',
      'a:b',
      '1:2,3:4',
      'two\nlines',
      '\u0000',
      ' ',
      '*',
      'ключ 🔑',
      'é'.repeat(127),
      '{tag}',
    ])('may have the key %j', async (key) => {
      const { fn, client } = setup();
      const options: RunOptions = { unique: { key } };
      await client.run(fn, 'x', { unique: { key: `${key.slice(0, 3)}.` } });
      await expect(client.run(fn, 'x', options)).resolves.toMatchObject({ id: '2', created: true });
      await expect(client.run(fn, 'x', options)).resolves.toMatchObject({ id: '2', created: false });
      const [again] = await client.runMany(fn, ['x'], options);
      expect(again).toMatchObject({ id: '2', created: false });
      await expect(client.run(rigOf().fn(), 'x', options)).resolves.toMatchObject({ created: true });
    });

    it.each<[string, unknown, object?]>([
      ['unique.key', {}],
      ['unique.key', { key: '' }],
      ['unique.key', { key: 7 }],
      ['unique.key', { key: null }],
      ['unique.key', { key: 'x'.repeat(256) }],
      ['unique.key', { key: 'é'.repeat(128) }],
      ['unique.key', { key: '\ud800' }],
      ['unique.key', { key: () => undefined }],
      ['unique.key', { key: async () => 'later' }],
      ['unique.while', { key: KEY, while: 'running' }],
      ['unique.while', { key: KEY, while: null }],
      ['unique.while', { key: KEY, while: 'waiting', throttle: 1 }],
      ['unique.while', { key: KEY, while: 'unfinished', debounce: 1 }],
      ['unique.throttle', { key: KEY, throttle: 1, debounce: 1 }],
      ['unique.throttle', { key: KEY, throttle: 0 }],
      ['unique.throttle', { key: KEY, throttle: 'soon' }],
      ['unique.throttle', { key: KEY, throttle: '101y' }],
      ['unique.debounce', { key: KEY, debounce: -1 }],
      ['unique.debounce', { key: KEY, debounce: Number.NaN }],
      ['unique.debounce', { key: KEY, debounce: null }],
      ['unique.maxWait', { key: KEY, maxWait: 1 }],
      ['unique.maxWait', { key: KEY, throttle: 1, maxWait: 1 }],
      ['unique.maxWait', { key: KEY, debounce: 2, maxWait: 1 }],
      ['unique.maxWait', { key: KEY, debounce: 2, maxWait: Infinity }],
      ['delay', { key: KEY, debounce: 1 }, { delay: 1 }],
      ['scheduled', { key: KEY, debounce: 1 }, { scheduled: new Date() }],
      ['priority', { key: KEY, debounce: 1 }, { priority: 'normal' }],
    ])('is not enqueued with an invalid %s: %j', async (option, unique, others = {}) => {
      const { fn, client } = setup();
      const options = { unique, ...others } as RunOptions;
      const refused = { code: 'INVALID_OPTION', option };
      await expect(client.run(fn, 'x', options)).rejects.toMatchObject(refused);
      await expect(client.call(fn, 'x', options)).rejects.toMatchObject(refused);
      await expect(client.runMany(fn, ['x'], options)).rejects.toMatchObject(refused);
      await expect(client.get(fn, 1)).resolves.toBeNull();
    });

    it.each([null, KEY, [KEY], true, { key: KEY, thorttle: 1 }])(
      'is not enqueued with %j',
      async (unique) => {
        const { fn, client } = setup();
        const options = { unique } as unknown as RunOptions;
        await expect(client.run(fn, 'x', options)).rejects.toMatchObject({ code: 'CONFIGURATION' });
        await expect(client.get(fn, 1)).resolves.toBeNull();
      },
    );

    it('whose key throws rejects the enqueue with that error', async () => {
      const { fn, client } = setup();
      const error = new Error('no order');
      const key = (): string => {
        throw error;
      };
      await expect(client.run(fn, 'x', { unique: { key } })).rejects.toBe(error);
      await expect(client.get(fn, 1)).resolves.toBeNull();
    });

    it('is created is true of all other jobs', async () => {
      const { fn, client } = setup();
      const [many] = await client.runMany(fn, ['x']);
      expect([many?.created, (await client.run(fn, 'x')).created]).toEqual([true, true]);
    });
  });
}
