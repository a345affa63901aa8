import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Observable, concat, of, throwError } from 'rxjs';
import { z } from 'zod';
import { JobFailedError } from '../../lib/job/errors.js';
import { defineJob, type AnyJobDefinition } from '../../lib/job/job-definition.js';
import { progress, type JobProgress } from '../../lib/job/job.js';
import type { Claim, Outcome } from '../../lib/job/job-source.js';
import type { JobHandler } from '../../lib/worker/job-handler.js';
import type { RunningJob } from '../../lib/worker/running-job.js';
import { useMemory } from '../embedded/use-memory.js';
import { gate } from '../support/gate.js';
import { runWorker, type WorkerSettings } from '../support/run-worker.js';
import { eventually, until } from '../support/until.js';

const SECOND_MS = 1000;
const TWO_HOURS_MS = 7_200_000;
/** Two of such runs take more than a second. */
const BUSY_MS = 600;
const CLAIMED = 5;

function claimWith(id: number, input: unknown): Claim {
  const encoded = Buffer.from(JSON.stringify(input));
  return { fn: 'fn', id: `${id}`, token: 1, input: encoded, attempts: 1, stalls: 0, options: {} };
}

describe('JobWorker', () => {
  const rig = useMemory();

  /** The outcome of one job. */
  async function outcome(handle: JobHandler, input: unknown = 'x', settings?: WorkerSettings) {
    await runWorker(rig.source(), 'fn', handle, settings);
    return rig.client.call('fn', input, { timeout: '5s' });
  }

  async function updates(handle: JobHandler): Promise<[output: unknown, number[]]> {
    const seen: JobProgress[] = [];
    const subscription = rig.client.progress('fn').subscribe((update) => seen.push(update));
    const output = await outcome(handle);
    subscription.unsubscribe();
    return [output, seen.map(({ dividend }) => dividend)];
  }

  describe('a handler that fails', () => {
    it.each([
      ['throws', (): unknown => JSON.parse('{'), 'JSON'],
      ['rejects', () => Promise.reject(new Error('no disk')), 'no disk'],
      [
        'throws in a generator',
        async function* () {
          yield progress(1, 2);
          throw new Error('half-way');
        },
        'half-way',
      ],
      [
        'errors in an Observable',
        () =>
          concat(
            of(progress(1, 2)),
            throwError(() => new Error('late')),
          ),
        'late',
      ],
      [
        'throws while it is subscribed',
        () =>
          new Observable(() => {
            throw new Error('at once');
          }),
        'at once',
      ],
    ] as [string, JobHandler, string][])('and %s fails its job', async (_, handle, message) => {
      await expect(outcome(handle)).rejects.toThrow(message);
    });

    it.each([
      ['word', 'word'],
      [undefined, 'undefined'],
      [null, 'null'],
      [{ a: 1 }, 'an object'],
    ])('and throws a value that is no Error (%p) fails its job', async (thrown, message) => {
      const running = outcome(() => {
        throw thrown;
      });
      await expect(running).rejects.toThrow(JobFailedError);
      await expect(running).rejects.toMatchObject({ error: { name: 'Error', message } });
    });

    it('does not end the worker', async () => {
      await expect(outcome(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
      await expect(rig.client.call('fn', 'x', { timeout: '5s' })).rejects.toThrow('no');
    });

    it.each([
      ['a BigInt', 1n, 'BigInt'],
      ['a function', () => 1, 'a function has no JSON'],
    ])('and returns %s fails its job', async (_, output, reason) => {
      await expect(outcome(() => output)).rejects.toMatchObject({
        error: { code: 'NOT_SERIALIZABLE', message: expect.stringContaining(reason) },
      });
    });

    it('and returns more than the limit fails its job', async () => {
      const running = outcome(() => 'x'.repeat(99), 'x', { maxPayloadBytes: 100 });
      await expect(running).rejects.toMatchObject({
        error: {
          code: 'PAYLOAD_TOO_LARGE',
          message: expect.stringContaining('output of "fn" has 101 bytes'),
        },
      });
    });

    it.each([
      [Number.NaN, 1],
      [1, 0],
      [1, -1],
      [1, Infinity],
    ])('and reports progress of %p/%p fails its job', async (dividend, divisor) => {
      await expect(outcome((_, job) => job.update(dividend, divisor))).rejects.toMatchObject({
        error: { code: 'INVALID_OPTION' },
      });
    });
  });

  describe('a handler', () => {
    it.each([
      ['a value', () => 'out', 'out'],
      ['a Promise', async () => 'out', 'out'],
      ['undefined', () => undefined, null],
      ['an array', () => [1], [1]],
      ['an Observable', () => of(1, 2, 'out'), 'out'],
      ['an empty Observable', () => of(), null],
      ['a Promise of an Observable', async () => of('out'), 'out'],
    ] as [string, JobHandler, unknown][])('returns %s', async (_, handle, output) => {
      await expect(outcome(handle)).resolves.toEqual(output);
    });

    it('gets the input and its job', async () => {
      const handle = (input: unknown, { id, fn, attempts, input: same }: RunningJob) => ({
        input,
        id,
        fn,
        attempts,
        same,
      });
      await expect(outcome(handle, { a: 1 })).resolves.toEqual({
        input: { a: 1 },
        id: '1',
        fn: 'fn',
        attempts: 1,
        same: { a: 1 },
      });
    });

    it('yields progress and returns the output', async () => {
      await expect(
        updates(async function* () {
          yield progress(1, 2);
          yield 'ignored';
          yield progress(2, 2);
          return 'out';
        }),
      ).resolves.toEqual(['out', [1, 2]]);
    });

    it('emits progress, and its last other value is the output', async () => {
      await expect(
        updates(() => of(progress(1, 3), 'a', progress(2, 3), 'out', progress(3, 3))),
      ).resolves.toEqual(['out', [1, 2, 3]]);
    });
  });

  describe('concurrency', () => {
    it.each([1, 4])('of %i is reached and not exceeded', async (concurrency) => {
      const end = gate();
      let [active, most] = [0, 0];
      const handle = async () => {
        most = Math.max(most, (active += 1));
        await end.passed;
        active -= 1;
      };
      await runWorker(rig.source(), 'fn', handle, { concurrency });
      const jobs = await rig.client.runMany(
        'fn',
        Array.from({ length: 12 }, (_, i) => i),
      );
      await eventually(() => expect(active).toBe(concurrency));
      end.open();
      await Promise.all(jobs.map((job) => job.result({ timeout: '5s' })));
      expect(most).toBe(concurrency);
    });
  });

  describe('schemas', () => {
    const schemas = {
      input: z.object({ n: z.coerce.number() }),
      output: z.object({ twice: z.number().max(10) }),
    };
    const job: AnyJobDefinition = defineJob('fn', schemas);
    let calls: number;

    beforeEach(async () => {
      calls = 0;
      await runWorker(rig.source(), job, (input) => {
        calls += 1;
        return { twice: 2 * (input as { n: number }).n, more: 'is stripped' };
      });
    });

    it('refuse input at the client', async () => {
      await expect(rig.client.run(job, { n: 'x' })).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
      await expect(rig.client.get('fn', 1)).resolves.toBeNull();
    });

    it('refuse input of other clients before the handler', async () => {
      const id = await rig.submit('fn', '{"n":"x"}');
      await expect(rig.client.result('fn', id, { timeout: '5s' })).rejects.toMatchObject({
        error: { code: 'VALIDATION_FAILED', message: expect.stringContaining('The input of "fn"') },
      });
      expect(calls).toBe(0);
    });

    it('refuse output', async () => {
      await expect(rig.client.call(job, { n: 6 }, { timeout: '5s' })).rejects.toMatchObject({
        error: { code: 'VALIDATION_FAILED', message: expect.stringContaining('The output of "fn"') },
      });
    });

    it('transform input and output', async () => {
      await expect(rig.client.call(job, { n: '5' }, { timeout: '5s' })).resolves.toEqual({ twice: 10 });
    });
  });

  it('begins no claim that has waited for a second, as its lease may be over, and gives it back', async () => {
    const source = rig.source();
    const claims = Array.from({ length: CLAIMED }, (_, index) => claimWith(index, BUSY_MS));
    const handed = [[claimWith(CLAIMED, 0)], claims];
    const outcomes: Outcome[] = [];
    let taken = Infinity;
    Object.assign(source.leases ?? {}, { mayBeLost: () => false });
    source.claim = async (_, signal) => {
      const next = handed.shift();
      if (next) taken = performance.now();
      else await new Promise((resolve) => signal.addEventListener('abort', resolve));
      return next ?? [];
    };
    source.settle = async (settled) => {
      outcomes.push(...settled);
      return [];
    };
    const waits: number[] = [];
    // A long run that follows short ones, and holds the event loop; those behind it were claimed ahead.
    const handle = (ms: unknown) => {
      const began = performance.now();
      waits.push(began - taken);
      while (performance.now() < began + Number(ms));
    };
    await runWorker(source, 'fn', handle);
    await eventually(() => expect(outcomes).toHaveLength(CLAIMED + 1));
    const begun = outcomes.filter(({ status }) => status === 'success').length;
    expect(outcomes.filter(({ status }) => status === 'released')).toHaveLength(CLAIMED + 1 - begun);
    expect(begun).toBe(waits.length);
    expect(begun).toBeLessThan(CLAIMED);
    expect(Math.max(...waits)).toBeLessThan(SECOND_MS);
  });

  it('goes on with its jobs when a test of the app moves its fake timers, and afterwards', async () => {
    const ran: unknown[] = [];
    await runWorker(rig.source(), 'fn', (input) => ran.push(input));
    const run = async (...inputs: number[]) => {
      await Promise.all(inputs.map((input) => rig.client.run('fn', input)));
      await until(() => inputs.every((input) => ran.includes(input)));
    };
    await run(1);
    jest.useFakeTimers({
      doNotFake: ['nextTick', 'setImmediate', 'setTimeout', 'setInterval', 'queueMicrotask'],
    });
    try {
      jest.advanceTimersByTime(TWO_HOURS_MS);
      await run(2, 3, 4);
    } finally {
      jest.useRealTimers();
    }
    await run(5, 6);
  });
});
