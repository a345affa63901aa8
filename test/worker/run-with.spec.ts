import { describe, expect, it } from '@jest/globals';
import { AsyncLocalStorage } from 'node:async_hooks';
import { progress } from '../../lib/job/job.js';
import type { JobHandler, RunWith } from '../../lib/worker/job-handler.js';
import { useMemory } from '../memory/use-memory.js';
import { runWorker, stopWorkersAfterEach } from '../support/run-worker.js';

describe('runWith', () => {
  const memory = useMemory();
  stopWorkersAfterEach();

  async function outcome(handle: JobHandler, runWith: RunWith) {
    const fn = 'in-context';
    await runWorker(memory.source(), fn, handle, { runWith });
    const options = { headers: { tenant: 'acme' }, blocking: true, timeout: '10s' };
    return (await memory.client.run(fn, 'x', options)).get();
  }

  const storage = new AsyncLocalStorage<string>();
  const inStorage: RunWith = ({ tenant }, next) => storage.run(tenant ?? '', next);

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
    const forgetful: RunWith = (_, next) => void next();
    await expect(outcome(async () => 'output', forgetful)).resolves.toMatchObject({ output: 'output' });
  });

  it('runs a handler once, however often it calls next', async () => {
    let runs = 0;
    const twice: RunWith = (_, next) => Promise.all([next(), next()]);
    await expect(outcome(() => (runs += 1), twice)).resolves.toMatchObject({ output: 1 });
  });

  it("fails the job with the handler's error, also one that it caught", async () => {
    const handle = () => {
      throw new RangeError('of the handler');
    };
    const catching: RunWith = (_, next) => next().catch(() => 'caught');
    await expect(outcome(handle, catching)).resolves.toMatchObject({ error: { message: 'of the handler' } });
  });

  it('fails the job with its own error', async () => {
    const failing: RunWith = async (_, next) => {
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
});
