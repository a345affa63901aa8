import { describe, expect, it } from '@jest/globals';
import type { GearMonkeyClient } from '../../lib/gearmonkey/client.js';
import { JobFailedError, NotSerializableError } from '../../lib/job/errors.js';
import { defineJob } from '../../lib/job/job-definition.js';
import { HOSTILE_VALUES, SECRET } from '../support/hostile-values.js';
import { runWorker } from '../support/run-worker.js';
import type { ClientRig } from './rig.js';

/** What an error and its causes take at most, with each character escaped. */
const MOST_BYTES = 200_000;

/** The part of the client's contract about unusual values. */
export function hostileClientContract(rigOf: () => ClientRig, clientOf: () => GearMonkeyClient): void {
  describe('unexpected values', () => {
    it('are returned as the error of the job whose handler threw them, short and without secrets', async () => {
      const fn = rigOf().fn();
      await runWorker(
        rigOf().source(),
        fn,
        (index) => {
          throw HOSTILE_VALUES[Number(index)]?.[1]();
        },
        { concurrency: 10, retry: { attempts: 2, delay: 1 } },
      );
      const jobs = await clientOf().runMany(fn, [...HOSTILE_VALUES.keys()]);
      for (const [index, job] of jobs.entries()) {
        const [what] = HOSTILE_VALUES[index] ?? [];
        const failed = await job.result({ timeout: '30s' }).catch((error: unknown) => error);
        const { error, errors } = await job.get();
        expect([what, failed]).toEqual([what, expect.any(JobFailedError)]);
        expect([what, (failed as JobFailedError).error]).toEqual([what, error]);
        expect(errors).toMatchObject([
          { attempt: 1, name: error?.name, message: error?.message },
          { attempt: 2, ...error },
        ]);
        const stored = JSON.stringify(error);
        expect(Buffer.byteLength(stored)).toBeLessThan(MOST_BYTES);
        expect(stored).not.toContain(SECRET);
      }
    });

    it('are refused as inputs or arrive, and do not affect jobs enqueued with them', async () => {
      const fn = rigOf().fn();
      await runWorker(rigOf().source(), fn, (input) => (input === 'good' ? 'done' : 'odd'), {
        concurrency: 10,
      });
      const calls = Promise.allSettled(
        HOSTILE_VALUES.map(([, make]) => clientOf().call(fn, make(), { timeout: '30s' })),
      );
      const beside = HOSTILE_VALUES.map(() => clientOf().call(fn, 'good', { timeout: '30s' }));
      await expect(Promise.all(beside)).resolves.toEqual(HOSTILE_VALUES.map(() => 'done'));
      for (const end of await calls) {
        if (end.status === 'fulfilled') expect(end.value).toBe('odd');
        else expect(end.reason).toBeInstanceOf(NotSerializableError);
      }
    });

    it('are refused as the result of a codec, without affecting the rest of the batch', async () => {
      const fn = rigOf().fn();
      const codecs = HOSTILE_VALUES.map(([, make]) => ({
        name: 'own',
        encode: make as () => string,
        decode: String,
      }));
      const good = clientOf().run(fn, 'before');
      const ends = Promise.allSettled(codecs.map((codec) => clientOf().run(defineJob(fn, { codec }), 'x')));
      const more = clientOf().runMany(fn, ['behind', 'them']);
      await expect(Promise.all([good, more])).resolves.toHaveLength(2);
      for (const end of await ends)
        if (end.status === 'rejected') expect(end.reason).toBeInstanceOf(NotSerializableError);
    });
  });
}
