import { describe, expect, it } from '@jest/globals';
import { AsyncLocalStorage } from 'node:async_hooks';
import { once } from 'node:events';
import { LeaseLostError } from '../../lib/job/abort-errors.js';
import { progress } from '../../lib/job/job.js';
import { ok } from '../../lib/worker/batch.js';
import type { JobHandler } from '../../lib/worker/job-handler.js';
import type { RunningJob } from '../../lib/worker/running-job.js';
import type { EndedRun, RunMiddleware } from '../../lib/worker/run-middleware.js';
import { useMemory } from '../embedded/use-memory.js';
import { gate } from '../support/gate.js';
import { runWorker, stopWorkersAfterEach } from '../support/run-worker.js';
import { eventually } from '../support/until.js';

type AroundRun = NonNullable<RunMiddleware['aroundRun']>;

describe('aroundRun', () => {
  const memory = useMemory();
  stopWorkersAfterEach();

  async function outcome(handle: JobHandler, ...around: AroundRun[]) {
    const fn = 'in-context';
    await runWorker(memory.source(), fn, handle, {
      middleware: around.map((aroundRun) => ({ aroundRun })),
    });
    const options = { headers: { tenant: 'acme' }, blocking: true, timeout: '10s' };
    return (await memory.client.run(fn, 'x', options)).get();
  }

  const storage = new AsyncLocalStorage<string>();
  const inStorage: AroundRun = ({ headers }, next) => storage.run(headers['tenant'] ?? '', next);

  it('runs the handler in its context, past each await', async () => {
    const handle = async () => {
      await Promise.resolve();
      return storage.getStore();
    };
    await expect(outcome(handle, inStorage)).resolves.toMatchObject({ output: 'acme' });
  });

  it('runs the whole of a generator in it', async () => {
    async function* handle() {
      yield progress(1, 2);
      return storage.getStore();
    }
    await expect(outcome(handle, inStorage)).resolves.toMatchObject({ output: 'acme' });
  });

  it('takes the output of a generator as it is, also if that is another generator', async () => {
    let begun = 0;
    function* inner() {
      begun += 1;
      yield progress(1, 2);
      return 'of the inner one';
    }
    function* handle() {
      yield progress(1, 2);
      return inner();
    }
    await outcome(handle, inStorage);
    expect(begun).toBe(0);
  });

  it('calls the handler as no method of anything', async () => {
    const owners: unknown[] = [];
    const handle = function (this: unknown) {
      owners.push(this);
    };
    await outcome(handle, inStorage);
    expect(owners).toEqual([undefined]);
  });

  it('does not decide the output', async () => {
    const forgetful: AroundRun = (_, next) => void next();
    await expect(outcome(async () => 'output', forgetful)).resolves.toMatchObject({ output: 'output' });
  });

  it('runs a handler once, however often it calls next', async () => {
    let runs = 0;
    const twice: AroundRun = (_, next) => Promise.all([next(), next()]);
    await expect(outcome(() => (runs += 1), twice)).resolves.toMatchObject({ output: 1 });
  });

  it("fails the job with the handler's error, also one that it caught", async () => {
    const handle = () => {
      throw new RangeError('of the handler');
    };
    const catching: AroundRun = (_, next) => next().catch(() => 'caught');
    await expect(outcome(handle, catching)).resolves.toMatchObject({ error: { message: 'of the handler' } });
  });

  it('fails the job with its own error', async () => {
    const failing: AroundRun = async (_, next) => {
      await next();
      throw new Error('of the context');
    };
    await expect(outcome(() => 'x', failing)).resolves.toMatchObject({
      error: { message: 'of the context' },
    });
  });

  it('fails the job if it does not call next', async () => {
    await expect(
      outcome(
        () => 'x',
        () => undefined,
      ),
    ).resolves.toMatchObject({
      error: { code: 'CONFIGURATION', message: expect.stringContaining('next()') },
    });
  });

  it('aborts a handler that it does not wait for when it fails', async () => {
    const seen: unknown[] = [];
    const handle: JobHandler = async (_, { signal }) => {
      await once(signal, 'abort');
      seen.push(signal.reason);
    };
    const racing: AroundRun = (_, next) => Promise.race([next(), Promise.reject(new Error('too slow'))]);
    await expect(outcome(handle, racing)).resolves.toMatchObject({ error: { message: 'too slow' } });
    await eventually(() => expect(seen).toEqual([expect.objectContaining({ code: 'ATTEMPT_FAILED' })]));
  });

  it('takes a job that it does not wait for out of its batch', async () => {
    const racing: AroundRun = (_, next) => Promise.race([next(), Promise.reject(new Error('too slow'))]);
    const batches: unknown[][] = [];
    const handle = (inputs: readonly unknown[]) => {
      batches.push([...inputs]);
      return inputs.map((input) => ok(input));
    };
    await runWorker(
      memory.source(),
      'batch',
      handle as never,
      {
        batch: { size: 2, wait: 60_000 },
        middleware: [
          {
            aroundRun: (job: RunningJob, next: () => Promise<unknown>) =>
              job.input === 'races' ? racing(job, next) : next(),
          },
        ],
      } as never,
    );
    const raced = await memory.client.run('batch', 'races', { blocking: true, timeout: '10s' });
    expect((await raced.get()).state).toBe('failed');
    const others = await memory.client.runMany('batch', ['a', 'b']);
    await Promise.all(others.map((job) => job.result({ timeout: '10s' })));
    expect(batches).toEqual([['a', 'b']]);
  });

  it('does not run a handler once the run has ended', async () => {
    let runs = 0;
    const late = gate();
    const called: unknown[] = [];
    const lateCall: AroundRun = async (_, next) => {
      void late.passed.then(next).catch((error: unknown) => called.push(error));
      throw new Error('refused');
    };
    await expect(outcome(() => (runs += 1), lateCall)).resolves.toMatchObject({
      error: { message: 'refused' },
    });
    late.open();
    await eventually(() => expect(called).toEqual([expect.objectContaining({ code: 'ATTEMPT_FAILED' })]));
    expect(runs).toBe(0);
  });

  it('does not run a handler whose job was lost in a hook', async () => {
    const order: string[] = [];
    const losing: AroundRun = async (job, next) => {
      job.abort(new LeaseLostError(job.fn, job.id));
      order.push('lost');
      await next().catch(({ code }: { code: string }) => order.push(code));
    };
    await runWorker(memory.source(), 'lost', () => order.push('handler'), {
      middleware: [{ aroundRun: losing, onOutcome: ({ end }) => order.push(`told ${end}`) }],
    });
    await memory.client.run('lost', 'x');
    await eventually(() => expect(order.slice(0, 3)).toEqual(['told lost', 'lost', 'LEASE_LOST']));
    expect(order).not.toContain('handler');
  });

  it('leaves nothing in the context of later jobs', async () => {
    const seen: unknown[] = [];
    const entering: AroundRun = ({ input }, next) => {
      if (input === 'enters') storage.enterWith('acme');
      return next();
    };
    await runWorker(memory.source(), 'contexts', () => seen.push(storage.getStore()), {
      middleware: [{ aroundRun: entering }],
    });
    await memory.client.run('contexts', 'enters', { blocking: true });
    await memory.client.run('contexts', 'later', { blocking: true });
    expect(seen).toEqual(['acme', undefined]);
  });

  it('has a full batch run in none of the contexts of its jobs', async () => {
    const seen: unknown[] = [];
    const handle = (inputs: readonly unknown[]) => {
      seen.push(storage.getStore());
      return inputs.map((input) => ok(input));
    };
    await runWorker(
      memory.source(),
      'batch',
      handle as never,
      {
        batch: { size: 2, wait: 60_000 },
        middleware: [{ aroundRun: inStorage }],
      } as never,
    );
    const jobs = await memory.client.runMany('batch', [1, 2], { headers: { tenant: 'acme' } });
    await Promise.all(jobs.map((job) => job.result({ timeout: '10s' })));
    expect(seen).toEqual([undefined]);
  });

  it('runs the hooks from the outside in, as they are listed', async () => {
    const order: string[] = [];
    const named =
      (name: string): AroundRun =>
      async (job, next) => {
        order.push(`${name} of ${job.fn}`);
        await next();
        order.push(`end of ${name}`);
      };
    await outcome(() => order.push('handler'), named('first'), named('second'));
    expect(order).toEqual([
      'first of in-context',
      'second of in-context',
      'handler',
      'end of second',
      'end of first',
    ]);
  });
});

describe('onOutcome', () => {
  const memory = useMemory();
  stopWorkersAfterEach();

  it.each<[string, JobHandler, Partial<EndedRun>]>([
    ['success', () => 'output', { end: 'success' }],
    ['error', fails, { end: 'error', error: { name: 'RangeError', message: 'wrong' } as never }],
  ])('hears of each end: %s', async (_, handle, end) => {
    const heard: EndedRun[] = [];
    await runWorker(memory.source(), 'heard', handle, {
      middleware: [{ onOutcome: (run) => heard.push(run) }],
    });
    const job = await memory.client.run('heard', 'x', { headers: { tenant: 'acme' }, blocking: true });
    expect(heard).toEqual([
      expect.objectContaining({
        ...{ fn: 'heard', id: job.id, attempt: 1, headers: { tenant: 'acme' } },
        ...{ ...end, ...(end.error && { error: expect.objectContaining(end.error) }) },
        took: expect.any(Number),
      }),
    ]);
  });

  it('hears when a job will run again', async () => {
    const heard: (readonly [string, number | undefined])[] = [];
    await runWorker(memory.source(), 'again', fails, {
      retry: { attempts: 2, delay: 50, jitter: 0 },
      middleware: [{ onOutcome: ({ end, delay }) => heard.push([end, delay]) }],
    });
    await memory.client.run('again', 'x', { blocking: true });
    expect(heard).toEqual([
      ['retry', 50],
      ['error', undefined],
    ]);
  });

  it('cannot change what is written', async () => {
    const changing = ({ error }: EndedRun) => void Object.assign(error as object, { message: 'changed' });
    const { said } = await runWorker(memory.source(), 'fixed', fails, {
      middleware: [{ onOutcome: changing }],
    });
    const job = await memory.client.run('fixed', 'x', { blocking: true });
    await expect(job.get()).resolves.toMatchObject({ error: { message: 'wrong' } });
    expect(said.join()).toContain('onOutcome of "fixed" failed');
  });

  it('hears of a job that was cancelled while it ran', async () => {
    const heard: string[] = [];
    const started = gate();
    const waits: JobHandler = async (_, { signal }) => {
      started.open();
      await once(signal, 'abort');
    };
    await runWorker(memory.source(), 'cancelled', waits, {
      middleware: [{ onOutcome: ({ end }) => heard.push(end) }],
    });
    const job = await memory.client.run('cancelled', 'x');
    await started.passed;
    await job.cancel();
    await eventually(() => expect(heard).toEqual(['cancelled']));
  });

  it.each<[string, RunMiddleware['onOutcome']]>([
    ['throws', fails],
    ['rejects', async () => fails()],
  ])('does not change the outcome, and is logged, if it %s', async (_, onOutcome) => {
    const heard: string[] = [];
    const { said } = await runWorker(memory.source(), 'kept', () => 'output', {
      middleware: [{ onOutcome }, { onOutcome: ({ end }) => heard.push(end) }],
    });
    const job = await memory.client.run('kept', 'x', { blocking: true });
    await expect(job.get()).resolves.toMatchObject({ output: 'output' });
    expect(heard).toEqual(['success']);
    await eventually(() => expect(said).toEqual(['onOutcome of "kept" failed: wrong']));
  });
});

function fails(): never {
  throw new RangeError('wrong');
}
