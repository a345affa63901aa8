import { describe, expect, it } from '@jest/globals';
import type { FlowNode } from '../../lib/gearmonkey/features/flows/flow-node.js';
import type { JobState } from '../../lib/job/job-state.js';
import { eventually } from '../support/until.js';
import { claimOne, failure, retry, snoozed, success } from './claiming.js';
import type { ClientRig } from './rig.js';

const HOUR_MS = 3_600_000;

/** The part of the client's contract that is about where jobs stand: what is read of one says the same as lists do. */
export function statesContract(rigOf: () => ClientRig): void {
  /** What `get`, `find` and `list` call it. */
  async function stateOf(fn: string, id: string): Promise<JobState> {
    const client = rigOf().client();
    const { state } = await client.getOrThrow(fn, id);
    expect((await client.find(fn, { id })).jobs.map((job) => job.state)).toEqual([state]);
    expect((await client.list(fn, { state })).jobs.map((job) => job.id)).toContain(id);
    return state;
  }

  describe('the state of a job', () => {
    it('is that of the list that it is in', async () => {
      const fn = rigOf().fn();
      const client = rigOf().client();
      const source = rigOf().source();
      const [first, second, third] = await client.runMany(fn, [1, 2, 3]);
      const later = await client.run(fn, 4, { delay: HOUR_MS });
      const claims = [await claimOne(source, fn), await claimOne(source, fn), await claimOne(source, fn)];
      const [one, two, three] = claims;
      if (!one || !two || !three) throw new Error('there are three');
      const waiting = await client.run(fn, 5);
      await expect(stateOf(fn, waiting.id)).resolves.toBe('waiting');
      await expect(stateOf(fn, later.id)).resolves.toBe('scheduled');
      await expect(stateOf(fn, first?.id ?? '')).resolves.toBe('running');
      await source.settle([success(one, '"out"'), failure(two, 'broken'), retry(three, HOUR_MS)]);
      await expect(stateOf(fn, first?.id ?? '')).resolves.toBe('succeeded');
      await expect(stateOf(fn, second?.id ?? '')).resolves.toBe('failed');
      await expect(stateOf(fn, third?.id ?? '')).resolves.toBe('retrying');
      for (const job of [waiting, later, third]) await job?.cancel();
      for (const job of [waiting, later, third])
        await expect(stateOf(fn, job?.id ?? '')).resolves.toBe('cancelled');
      await source.close();
    });

    it('is scheduled while it is snoozed, also after an attempt that failed', async () => {
      const fn = rigOf().fn();
      const client = rigOf().client();
      const source = rigOf().source();
      const job = await client.run(fn, 1);
      await source.settle([retry(await claimOne(source, fn), 0, 'broken')]);
      await source.settle([snoozed(await claimOne(source, fn), HOUR_MS)]);
      expect((await job.get()).errors).toHaveLength(1);
      await expect(stateOf(fn, job.id)).resolves.toBe('scheduled');
      const { times } = await job.get();
      expect(Number(times.scheduled) - Date.now()).toBeGreaterThan(HOUR_MS / 2);
      await source.close();
    });

    it('of one that is tried again has the time of its next attempt', async () => {
      const fn = rigOf().fn();
      const source = rigOf().source();
      const job = await rigOf().client().run(fn, 1);
      await source.settle([retry(await claimOne(source, fn), HOUR_MS, 'broken')]);
      const { times } = await job.get();
      expect(Number(times.scheduled) - Date.now()).toBeGreaterThan(HOUR_MS / 2);
      await source.close();
    });

    it('is scheduled while it waits for others, and cancelled or failed with them as its policy says', async () => {
      const fn = rigOf().fn();
      const client = rigOf().client();
      const source = rigOf().source();
      const cancels: FlowNode = { job: fn, input: 1, options: { onParentError: 'cancel' } };
      const fails: FlowNode = { job: fn, input: 2 };
      const flow = await client.flow({ job: fn, input: 0, children: [cancels, fails] });
      const ids = [cancels, fails].map((one) => flow.jobOf(one)?.id ?? '');
      for (const id of ids) await expect(stateOf(fn, id)).resolves.toBe('scheduled');
      await source.settle([failure(await claimOne(source, fn), 'broken')]);
      await eventually(async () => expect((await client.get(fn, ids[1] ?? ''))?.state).toBe('failed'));
      await expect(stateOf(fn, ids[0] ?? '')).resolves.toBe('cancelled');
      await source.close();
    });

    it('of a drained job is cancelled; retried, it waits', async () => {
      const fn = rigOf().fn();
      const client = rigOf().client();
      const job = await client.run(fn, 1, { delay: HOUR_MS });
      await client.drain(fn, { states: ['scheduled'] });
      await expect(stateOf(fn, job.id)).resolves.toBe('cancelled');
      await expect(client.retry(fn, job.id).done).resolves.toBe(1);
      await expect(stateOf(fn, job.id)).resolves.toBe('waiting');
      const source = rigOf().source();
      await source.settle([failure(await claimOne(source, fn), 'broken')]);
      await expect(stateOf(fn, job.id)).resolves.toBe('failed');
      await source.close();
    });

    it('is failed if its handler threw what a cancelled job has as its error', async () => {
      const fn = rigOf().fn();
      const source = rigOf().source();
      const job = await rigOf().client().run(fn, 1);
      const error = { name: 'JobCancelledError', code: 'JOB_CANCELLED', message: 'cancelled' };
      await source.settle([{ claim: await claimOne(source, fn), status: 'error', error }]);
      await expect(stateOf(fn, job.id)).resolves.toBe('failed');
      await source.close();
    });
  });
}
