import { describe, expect, it } from '@jest/globals';
import type { GearMonkeyClient } from '../../lib/gearmonkey/client.js';
import { defineJob } from '../../lib/job/job-definition.js';
import { runWorker } from '../support/run-worker.js';
import { claimOne, inputOf } from './claiming.js';
import { workersLook, type ClientRig } from './rig.js';

const echo = (input: unknown) => input;

/** The part of the client's contract that is about how payloads are written. */
export function codecContract(rigOf: () => ClientRig, clientOf: () => GearMonkeyClient): void {
  describe('codecs', () => {
    it('json reads text that is not JSON as a string', async () => {
      const fn = rigOf().fn();
      const received: unknown[] = [];
      await runWorker(rigOf().source(), fn, (input) => void received.push(input));
      const words = ['hello', '', '{"a":', 'é€😀', '[1]', 'null'];
      for (const word of words) await rigOf().submit(fn, word);
      await workersLook(rigOf());
      await clientOf().result(fn, words.length, { timeout: '10s' });
      expect(received).toEqual(['hello', '', '{"a":', 'é€😀', [1], null]);
    });

    it('json writes undefined as null', async () => {
      const fn = rigOf().fn();
      await runWorker(rigOf().source(), fn, () => undefined);
      await expect(clientOf().call(fn, undefined, { timeout: '10s' })).resolves.toBeNull();
    });

    it('text passes strings unchanged', async () => {
      const job = defineJob<string, string>(rigOf().fn(), { codec: 'text' });
      await runWorker(rigOf().source(), job, (input) => `${input as string}!`);
      await expect(clientOf().call(job, '"{', { timeout: '10s' })).resolves.toBe('"{!');
      await expect(rigOf().stored(job.name, '1')).resolves.toEqual({ status: 'success', output: '"{!' });
    });

    it('msgpack passes bytes', async () => {
      const job = defineJob<{ bytes: Uint8Array }>(rigOf().fn(), { codec: 'msgpack' });
      await runWorker(rigOf().source(), job, echo);
      const input = { bytes: new Uint8Array([0, 255, 13, 10]) };
      await expect(clientOf().call(job, input, { timeout: '10s' })).resolves.toEqual(input);
    });

    it('of a registered definition apply if only its name is given', async () => {
      const job = defineJob<string>(rigOf().fn(), { codec: 'text' });
      const knowing = rigOf().client();
      knowing.register(job);
      await knowing.run(job.name, 'plain');
      const source = rigOf().source();
      await expect(claimOne(source, job.name).then(inputOf)).resolves.toBe('plain');
      await source.close();
    });

    it('of the client apply if a definition has none', async () => {
      const fn = rigOf().fn();
      await rigOf().client({ codec: 'text' }).run(fn, 'plain');
      const source = rigOf().source();
      await expect(claimOne(source, fn).then(inputOf)).resolves.toBe('plain');
      await source.close();
    });
  });
}
