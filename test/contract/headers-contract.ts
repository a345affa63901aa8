import { describe, expect, it } from '@jest/globals';
import type { RunOptions } from '../../lib/gearmonkey/core/client/run-options.js';
import type { RunningJob } from '../../lib/worker/running-job.js';
import { runWorker } from '../support/run-worker.js';
import type { ClientRig } from './rig.js';

const WAITING = { blocking: true, timeout: '10s' } as const;

/** The part of the client's contract that is about headers. */
export function headersContract(rigOf: () => ClientRig): void {
  describe('headers', () => {
    const entries = (_: unknown, { headers }: RunningJob) => Object.entries(headers);

    it('reach the handler and readers of the job', async () => {
      const fn = rigOf().fn();
      await runWorker(rigOf().source(), fn, entries);
      const job = await rigOf()
        .client()
        .run(fn, 'x', { ...WAITING, headers: { tenant: 'acme', locale: 'de' } });
      const { output, headers } = await job.get();
      expect(output).toEqual([
        ['tenant', 'acme'],
        ['locale', 'de'],
      ]);
      expect({ ...headers }).toEqual({ tenant: 'acme', locale: 'de' });
    });

    it('are empty if none were given', async () => {
      const fn = rigOf().fn();
      await runWorker(rigOf().source(), fn, entries);
      const job = await rigOf().client().run(fn, 'x', WAITING);
      await expect(job.get()).resolves.toMatchObject({ output: [], headers: {} });
    });

    it('are those of the module, asked at each enqueue, and of the call, which go before', async () => {
      const fn = rigOf().fn();
      let tenant = 'first';
      const client = rigOf().client({ headers: () => ({ tenant, from: 'module' }) });
      await runWorker(rigOf().source(), fn, entries);
      const call = () => client.call(fn, 'x', { headers: { from: 'call' }, timeout: '10s' });
      await expect(call()).resolves.toContainEqual(['tenant', 'first']);
      tenant = 'second';
      await expect(call()).resolves.toEqual([
        ['tenant', 'second'],
        ['from', 'call'],
      ]);
      const [many] = await client.runMany(fn, ['x']);
      expect({ ...(await many?.get())?.headers }).toEqual({ tenant: 'second', from: 'module' });
    });

    it('of jobs that are enqueued together stay with their jobs', async () => {
      const fn = rigOf().fn();
      const client = rigOf().client();
      const numbers = Array.from({ length: 60 }, (_, number) => number);
      const given = (number: number): RunOptions =>
        number % 3 === 0 ? {} : { headers: { number: String(number) } };
      const jobs = await Promise.all(numbers.map((number) => client.run(fn, number, given(number))));
      const read = await Promise.all(jobs.map((job) => job.get()));
      expect(read.map(({ input, headers }) => [input, headers.number])).toEqual(
        numbers.map((number) => [number, given(number).headers?.number]),
      );
    });

    it('are there again after a retry', async () => {
      const fn = rigOf().fn();
      await runWorker(rigOf().source(), fn, (_, { attempts, headers }) => {
        if (attempts === 1) throw new Error('again');
        return headers.tenant;
      });
      const options = { headers: { tenant: 'acme' }, retry: { attempts: 2, delay: 1 }, timeout: '10s' };
      await expect(rigOf().client().call(fn, 'x', options)).resolves.toBe('acme');
    });

    it('that are no texts are refused before anything is written', async () => {
      const fn = rigOf().fn();
      const client = rigOf().client();
      const headers = { tenant: 7 } as unknown as Record<string, string>;
      const refused = { code: 'INVALID_OPTION', option: 'headers.tenant' };
      await expect(client.run(fn, 'x', { headers })).rejects.toMatchObject(refused);
      await expect(client.runMany(fn, ['x'], { headers })).rejects.toMatchObject(refused);
      const careless = rigOf().client({ headers: () => headers });
      await expect(careless.call(fn, 'x')).rejects.toMatchObject(refused);
      await expect(client.get(fn, 1)).resolves.toBeNull();
    });

    it('whose function throws reject the enqueue with that error', async () => {
      const fn = rigOf().fn();
      const failure = new Error('no context');
      const client = rigOf().client({
        headers: () => {
          throw failure;
        },
      });
      await expect(client.run(fn, 'x')).rejects.toBe(failure);
      await expect(client.get(fn, 1)).resolves.toBeNull();
    });
  });
}
