import { describe, expect, it } from '@jest/globals';
import { firstValueFrom, toArray } from 'rxjs';
import { codecOf } from '../../lib/job/codec.js';
import { defineJob } from '../../lib/job/job-definition.js';
import type { Claim, Outcome } from '../../lib/job/job-source.js';
import { ALL_CAPABILITIES } from '../../lib/job/source-capabilities.js';
import { JobExecution } from '../../lib/worker/job-execution.js';
import { bindHandler } from '../../lib/worker/job-handler.js';
import type { RunMiddleware } from '../../lib/worker/run-middleware.js';
import type { RunningJob } from '../../lib/worker/running-job.js';
import { useMemory } from '../embedded/use-memory.js';
import { gate } from '../support/gate.js';
import { runWorker } from '../support/run-worker.js';

const AGAIN = { retry: { attempts: 3, delay: 1 } };

describe('An attempt', () => {
  const rig = useMemory();

  it('that fails leaves the places of cursors to the next', async () => {
    const places: number[] = [];
    await runWorker(rig.source(), defineJob('fn', AGAIN), async (_, job) => {
      const cursor = await job.cursor('page', { start: 0 });
      places.push(cursor.value);
      await cursor.advance(cursor.value + 1);
      throw new Error('once more');
    });
    await expect(rig.client.call('fn', 'x', { timeout: '20s' })).rejects.toThrow('once more');
    expect(places).toEqual([0, 1, 2]);
  });

  it('that has no steps is settled when all that it streams is written', async () => {
    const source = rig.source();
    const done: string[] = [];
    const { streams } = source.records ?? {};
    const [append, settle] = [streams?.append.bind(streams), source.settle.bind(source)];
    if (streams && append)
      streams.append = async (...args) => {
        for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
        done.push('written');
        return append(...args);
      };
    source.settle = (outcomes) => {
      done.push('settled');
      return settle(outcomes);
    };
    await runWorker(source, 'fn', (_, job) => {
      void job.chunk('last');
      return 'out';
    });
    const job = await rig.client.run('fn', 'x');
    await expect(job.result({ timeout: '20s' })).resolves.toBe('out');
    expect(done).toEqual(['written', 'settled']);
  });

  it('ends when all that it streams and all its steps are written, also those that it did not await', async () => {
    const end = gate();
    const source = rig.source();
    const { streams } = source.records ?? {};
    const append = streams?.append.bind(streams);
    if (streams && append)
      streams.append = async (...args) => {
        await end.passed;
        return append(...args);
      };
    await runWorker(source, 'fn', (_, job) => {
      void job.chunk('last');
      void job.step('step', () => 'done');
      setImmediate(end.open);
      return 'out';
    });
    const job = await rig.client.run('fn', 'x');
    await expect(job.result({ timeout: '20s' })).resolves.toBe('out');
    await expect(firstValueFrom(job.output$.pipe(toArray()))).resolves.toEqual(['last']);
    const { steps = [] } = await job.get();
    expect(steps.map(({ name }) => name)).toEqual(['step']);
  });
});

/** How a source answers that was asked for a new lease. */
type Answer = 'held' | 'late' | 'lost' | 'none';

describe('An attempt whose lease may be over', () => {
  const claim: Claim = {
    ...{ fn: 'fn', id: '1', token: 1, input: Buffer.from('"x"'), attempts: 1, stalls: 0, options: {} },
  };

  /** Runs it. Returns its outcome, how often the handler ran, and whether the worker was told that the claim is lost. */
  async function run(answers: readonly Answer[], middleware?: readonly RunMiddleware[]) {
    const left = [...answers];
    let mayBeLost = middleware === undefined;
    let [ran, told] = [0, 0];
    const source = {
      progress: async () => true,
      capabilities: ALL_CAPABILITIES,
      leases: { mayBeLost: () => mayBeLost },
      renew: async (claims: readonly Claim[]) => {
        const answer = left.shift();
        if (answer === 'none') throw new Error('no line');
        mayBeLost = answer !== 'held';
        return answer === 'lost' ? claims : [];
      },
    };
    const binding = bindHandler(defineJob('fn'), {}, () => {
      ran += 1;
      return 'out';
    });
    const hooks = middleware?.map(({ aroundRun }) => ({
      aroundRun: async (job: RunningJob, next: () => Promise<unknown>) => {
        mayBeLost = true;
        return aroundRun?.(job, next);
      },
    }));
    const limits = { codec: codecOf(), maxPayloadBytes: 1000, middleware: hooks, onLost: () => (told += 1) };
    const outcome = await new Promise<Outcome | undefined>((resolve) => {
      new JobExecution(claim, binding, limits, source, (_, ended) => resolve(ended)).start();
    });
    return [outcome?.status, ran, told];
  }

  it.each<[string, Answer[], unknown[]]>([
    ['begins when it has a new one', ['held'], ['success', 1, 0]],
    ['asks again if that was late as well', ['late', 'late', 'held'], ['success', 1, 0]],
    ['goes back if it never gets one in time', ['late', 'late', 'late'], ['released', 0, 0]],
    ['goes back if it gets no answer', ['none'], ['released', 0, 0]],
    ['does not begin if another worker has the job', ['lost'], [undefined, 0, 1]],
  ])('%s', async (_, answers, expected) => {
    await expect(run(answers)).resolves.toEqual(expected);
  });

  it('does not begin either if that is so behind hooks that took long', async () => {
    const hook: RunMiddleware = { aroundRun: (_, next) => next() };
    await expect(run(['lost'], [hook])).resolves.toEqual([undefined, 0, 1]);
    await expect(run(['held'], [hook])).resolves.toEqual(['success', 1, 0]);
  });
});
