import { describe, expect, it } from '@jest/globals';
import { firstValueFrom, toArray } from 'rxjs';
import { defineJob } from '../../lib/job/job-definition.js';
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
    const [append, settle] = [source.records?.append.bind(source.records), source.settle.bind(source)];
    if (source.records && append)
      source.records.append = async (...args) => {
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
    const append = source.records?.append.bind(source.records);
    if (source.records && append)
      source.records.append = async (...args) => {
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
