import { describe, expect, it } from '@jest/globals';
import { setImmediate as turn } from 'node:timers/promises';
import { defineJob } from '../../lib/job/job-definition.js';
import { runWorker } from '../support/run-worker.js';
import { eventually } from '../support/until.js';
import { workersLook, type ClientRig } from './rig.js';

interface Change {
  readonly tenant: string;
  readonly text: number;
}

/** The part of the client's contract that is about unique jobs of functions that have a limit. */
export function uniqueLimitContract(rigOf: () => ClientRig): void {
  describe('a unique job of a function with a limit', () => {
    const tenant = (change: Change) => change.tenant;

    it('that is debounced, in strict order, runs with the last input and holds up no other', async () => {
      const fn = rigOf().fn();
      const index = defineJob<Change, number>(fn, {
        limit: { key: tenant, order: 'strict' },
        unique: { key: tenant, debounce: 20 },
      });
      const seen: number[] = [];
      let running = 0;
      const handle = async (input: unknown, { attempts }: { readonly attempts: number }) => {
        const { text } = input as Change;
        running += 1;
        expect(running).toBe(1);
        await turn();
        running -= 1;
        if (attempts === 1 && text % 10 === 7) throw new Error('again');
        seen.push(text);
        return text;
      };
      const retry = { attempts: 2, delay: 10 };
      await runWorker(rigOf().source(), index, handle, { concurrency: 5, retry });
      const client = rigOf().client();
      for (let text = 0; text < 100; text++) {
        await client.run(index, { tenant: 'a', text });
        if (text % 5 === 0) await client.run(index, { tenant: 'a', text }, { unique: false });
      }
      for (const text of [100, 101]) {
        const last = await client.run(index, { tenant: 'a', text });
        await workersLook(rigOf());
        await expect(last.result({ timeout: '20s' })).resolves.toBe(text);
      }
      expect(seen.slice(-2)).toEqual([100, 101]);
    });

    it('stands for others while it waits for its key, and is limited', async () => {
      const fn = rigOf().fn();
      const index = defineJob<Change>(fn, {
        limit: { key: tenant, concurrency: 1 },
        unique: { key: ({ text }) => `${text}` },
      });
      const client = rigOf().client();
      const jobs = [];
      for (let text = 0; text < 10; text++)
        for (const _ of [1, 2]) jobs.push(await client.run(index, { tenant: 'a', text }));
      expect(jobs.map(({ created }) => created)).toEqual(jobs.map((_, i) => i % 2 === 0));
      let [running, most] = [0, 0];
      const handle = async () => {
        running += 1;
        most = Math.max(most, running);
        await turn();
        running -= 1;
      };
      await runWorker(rigOf().source(), index, handle, { concurrency: 5 });
      const last = jobs.at(-1);
      await eventually(async () => expect(await last?.get()).toMatchObject({ state: 'succeeded' }));
      expect(most).toBe(1);
      const again = await client.run(index, { tenant: 'a', text: 9 });
      expect([again.created, again.id]).toEqual([true, '11']);
    });
  });
}
