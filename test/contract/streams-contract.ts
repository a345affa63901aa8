import { describe, expect, it } from '@jest/globals';
import { concatMap, from, of, toArray, firstValueFrom, take, type Observable } from 'rxjs';
import { chunk, MAX_ENTRIES } from '../../lib/job/streams.js';
import type { RunningJob } from '../../lib/worker/running-job.js';
import { claimOne } from './claiming.js';
import { gate } from '../support/gate.js';
import { runWorker, type WorkerSettings } from '../support/run-worker.js';
import { eventually } from '../support/until.js';
import type { ClientRig } from './rig.js';

const numbers = (count: number) => Array.from({ length: count }, (_, n) => n);

/** The part of the contract that is about what jobs stream. */
export function streamsContract(rigOf: () => ClientRig): void {
  describe('streams', () => {
    async function runJob(
      handle: (job: RunningJob) => unknown,
      { fn = rigOf().fn(), ...settings }: { fn?: string } & WorkerSettings = {},
    ) {
      const ran = await runWorker(rigOf().source(), fn, (_, job) => handle(job), settings);
      return { ...ran, fn, job: await rigOf().client().run(fn, null) };
    }
    const all = <T>(stream: Observable<T>) => firstValueFrom(stream.pipe(toArray()));

    it.each<[string, (job: RunningJob) => unknown]>([
      [
        'a generator yields',
        async function* () {
          for (const n of numbers(5)) yield chunk({ n });
          return 'end';
        },
      ],
      ['an Observable emits', () => from([...numbers(5).map((n) => chunk({ n })), 'end'])],
      [
        'job.chunk is given',
        (job) => {
          for (const n of numbers(5)) void job.chunk({ n });
          return 'end';
        },
      ],
    ])('have the chunks that %s, and the output is another thing', async (_, handle) => {
      const { job } = await runJob(handle);
      await expect(job.result()).resolves.toBe('end');
      await expect(all(job.output$)).resolves.toEqual(numbers(5).map((n) => ({ n })));
    });

    it('are seen live and from the beginning, by each of many watchers', async () => {
      const [half, rest] = [gate(), gate()];
      const { job } = await runJob(async function* () {
        yield chunk('one');
        yield chunk('two');
        await half.passed;
        yield chunk('three');
        await rest.passed;
      });
      const first = all(job.output$);
      await expect(firstValueFrom(job.output$.pipe(take(2), toArray()))).resolves.toEqual(['one', 'two']);
      const seen: unknown[] = [];
      job.output$.subscribe((text) => seen.push(text));
      half.open();
      await eventually(() => expect(seen).toEqual(['one', 'two', 'three']));
      const many = numbers(50).map(() => all(job.output$));
      rest.open();
      const every = await Promise.all([first, ...many]);
      expect(every).toEqual(every.map(() => ['one', 'two', 'three']));
    });

    it('keep the order and lose nothing of many chunks, also for a slow watcher', async () => {
      const { job } = await runJob(async function* () {
        for (const n of numbers(3000)) yield chunk(n);
      });
      const slowly = all(job.output$.pipe(concatMap((n) => of(n).pipe(concatMap(async (value) => value)))));
      await expect(all(job.output$)).resolves.toEqual(numbers(3000));
      await expect(slowly).resolves.toEqual(numbers(3000));
    });

    it('go on behind a position, with numbers and times', async () => {
      const open = gate();
      const { job, fn } = await runJob(async function* (running) {
        void running.log('begins');
        for (const n of numbers(1200)) yield chunk(n);
        await open.passed;
        yield chunk('last');
      });
      const client = rigOf().client();
      const before = await firstValueFrom(client.outputEntries(fn, job.id).pipe(take(1100), toArray()));
      expect(before.map(({ number }) => number)).toEqual(numbers(1100).map((n) => n + 1));
      expect(before.every(({ number, value }) => value === number - 1)).toBe(true);
      const after = before.at(-1)?.number ?? 0;
      const rest = all(client.outputEntries<unknown>(fn, job.id, { after }));
      open.open();
      const numbered = (await rest).map(({ number, value }) => [number, value]);
      expect(numbered).toEqual([...numbers(100).map((n) => [n + 1101, n + 1100]), [1201, 'last']]);
      await expect(all(client.output(fn, job.id, { after: 1200 }))).resolves.toEqual(['last']);
      await expect(all(client.output(fn, job.id, { after: 9999 }))).resolves.toEqual([]);
      const [line] = await all(client.logEntries(fn, job.id));
      expect(line).toEqual({ number: 1, value: 'begins', time: expect.any(Date) });
      await expect(all(client.log(fn, job.id, { after: 1 }))).resolves.toEqual([]);
      expect(line?.time.getTime()).toBeLessThanOrEqual(before.at(-1)?.time.getTime() ?? 0);
    });

    it('keep the numbers of entries of which older ones were dropped', async () => {
      const { job, fn } = await runJob(async (running) => {
        for (const n of numbers(MAX_ENTRIES + 20)) await running.log(`line ${n + 1}`);
      });
      await job.result();
      const entries = await all(rigOf().client().logEntries(fn, job.id, { after: 5 }));
      expect([entries[0]?.number, entries.at(-1)?.number]).toEqual([21, MAX_ENTRIES + 20]);
      expect(entries.every(({ number, value }) => value === `line ${number}`)).toBe(true);
    });

    it.each([-1, 1.5, Number.NaN, 2 ** 60, '7'])('refuse the position %p', (after) => {
      const client = rigOf().client();
      for (const read of [
        () => client.output('fn', 1, { after: after as number }),
        () => client.outputEntries('fn', 1, { after: after as number }),
        () => client.log('fn', 1, { after: after as number }),
        () => client.logEntries('fn', 1, { after: after as number }),
      ])
        expect(read).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }));
      expect(() => client.output('fn', 1, { from: 1 } as never)).toThrow(/from/);
    });

    it('keep the newest entries of too many, and of too large ones', async () => {
      const { job } = await runJob(async (running) => {
        for (const n of numbers(MAX_ENTRIES + 500)) await running.log(`line ${n}`);
        for (const n of numbers(30)) await running.chunk(`${n} ${'x'.repeat(60_000)}`);
      });
      await job.result();
      const lines = await all(job.log$);
      expect([lines.length, lines[0], lines.at(-1)]).toEqual([
        MAX_ENTRIES,
        'line 500',
        `line ${MAX_ENTRIES + 499}`,
      ]);
      const chunks = (await all(job.output$)) as string[];
      expect(chunks.map((text) => Number.parseInt(text, 10))).toEqual(numbers(17).map((n) => n + 13));
    });

    it('have the lines of the log, and nothing of the chunks', async () => {
      const { job, fn } = await runJob(async (running) => {
        await running.log('first\nline');
        await running.chunk('a chunk');
        await running.log('x'.repeat(10_000));
        await running.log('\uD800');
      });
      await job.result();
      const stored = (await rigOf().client().described(fn, job.id))?.stored;
      expect(['output', 'log'].map((kind) => String(stored?.get(`${kind}:count`)))).toEqual(['1', '3']);
      const lines = await all(rigOf().client().log(fn, job.id));
      expect(lines.map((line) => [line.slice(0, 10), line.length])).toEqual([
        ['first\nline', 10],
        ['xxxxxxxxxx', 8192],
        ['\uFFFD', 1],
      ]);
      await expect(all(rigOf().client().output(fn, job.id))).resolves.toEqual(['a chunk']);
    });

    it('go on when another attempt runs, and keep what came before', async () => {
      const { job } = await runJob(
        async (running) => {
          await running.chunk(`attempt ${running.attempts}`);
          if (running.attempts < 3) throw new Error('once more');
        },
        { retry: { attempts: 3, delay: 1 } },
      );
      await expect(all(job.output$)).resolves.toEqual(['attempt 1', 'attempt 2', 'attempt 3']);
    });

    it('have all that came before a job was parked, or given back', async () => {
      const lines = numbers(200).map((n) => `line ${n}`);
      const { job, fn } = await runJob(async (running) => {
        if (running.snoozes === 0) for (const line of lines) void running.log(line);
        await running.waitFor('go', { timeout: '7d' });
      });
      await eventually(async () => expect((await job.get()).waitsFor).toEqual(['go']));
      const { total } = await rigOf().store().streams.read(fn, job.id, 'log', 0);
      expect(total).toBe(200);
      await job.signal('go');
      await expect(all(job.log$)).resolves.toEqual(lines);
    });

    it('complete for a job that failed, with what it had streamed', async () => {
      const { job } = await runJob(async (running) => {
        void running.log('before');
        throw new Error('no');
      });
      await expect(all(job.log$)).resolves.toEqual(['before']);
      await expect(job.result()).rejects.toMatchObject({ code: 'JOB_FAILED' });
    });

    it('are empty for a job that streams nothing, and an error for one that is not there', async () => {
      const { job, fn } = await runJob(() => 1);
      await expect(all(job.output$)).resolves.toEqual([]);
      await expect(all(rigOf().client().log(fn, 999_999))).rejects.toMatchObject({ code: 'JOB_NOT_FOUND' });
    });

    it('refuse a chunk that is too large or has no form, and a line that is no text', async () => {
      const { job } = await runJob(async (running) => {
        const codes: unknown[] = [];
        const failed = (error: { code?: unknown }) => void codes.push(error.code);
        await running.chunk('x'.repeat(70_000)).catch(failed);
        await running.chunk(1n).catch(failed);
        await running.log(7 as never).catch(failed);
        void running.chunk(1n);
        return codes;
      });
      await expect(job.result()).resolves.toEqual([
        'PAYLOAD_TOO_LARGE',
        'NOT_SERIALIZABLE',
        'INVALID_OPTION',
      ]);
      await expect(all(job.output$)).resolves.toEqual([]);
    });

    it('take nothing from a worker that has lost the job, and nothing twice', async () => {
      const fn = rigOf().fn();
      const source = rigOf().source();
      await source.open([fn]);
      const job = await rigOf().client().run(fn, null);
      const claim = await claimOne(source, fn);
      const append = (sent: number, text: string) =>
        source.records?.streams?.append(claim, 'log', sent, [Buffer.from(`1:${text}`)]);
      await expect(append(0, 'held')).resolves.toBe(true);
      await job.cancel();
      await expect(append(1, 'lost')).resolves.toBe(false);
      await expect(all(job.log$)).resolves.toEqual(['held']);
    });

    it('are gone with their job', async () => {
      const { job, fn } = await runJob(async (running) => {
        await running.log('line');
        throw new Error('no');
      });
      await job.result().catch(() => undefined);
      await rigOf().client().discard(fn, job.id).done;
      const { entries, total } = await rigOf().store().streams.read(fn, job.id, 'log', 0);
      expect([entries, total]).toEqual([[], 0]);
    });
  });
}
