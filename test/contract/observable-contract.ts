import { describe, expect, it } from '@jest/globals';
import { firstValueFrom, lastValueFrom, map, take, timeout, toArray, type Observable } from 'rxjs';
import type { GearMonkeyClient } from '../../lib/gearmonkey/client.js';
import { JobNotFoundError } from '../../lib/job/errors.js';
import type { JobEvent, JobProgress } from '../../lib/job/job.js';
import { gate } from '../support/gate.js';
import { runWorker } from '../support/run-worker.js';
import { eventually, until } from '../support/until.js';
import type { ClientRig } from './rig.js';

const PATIENCE_MS = 20_000;
/** How long a client keeps a subscription that nothing uses, at most. */
const LINGERS_MS = 1000;

/** The part of the client's contract that is about `events`, `progress` and `watch`. */
export function observableContract(rigOf: () => ClientRig, clientOf: () => GearMonkeyClient): void {
  const subscribed = (fn: string, count: number) =>
    until(async () => (await rigOf().subscriptions(fn)) === count, { message: `not ${count} subscriptions` });

  const unsubscribed = async (fn: string) => {
    await rigOf().pass?.(LINGERS_MS);
    await subscribed(fn, 0);
  };

  const all = <T>(source: Observable<T>) => lastValueFrom(source.pipe(timeout(PATIENCE_MS), toArray()));

  describe('observables', () => {
    it('are cold: they subscribe in Redis only when they are subscribed to', async () => {
      const fn = rigOf().fn();
      clientOf().events(fn);
      clientOf().progress(fn);
      clientOf().watch(fn, 1);
      await clientOf().run(fn, 'x');
      await expect(rigOf().subscriptions(fn)).resolves.toBe(0);
    });

    it('share one subscription per function, which ends with the last subscriber', async () => {
      const fn = rigOf().fn();
      const job = await clientOf().run(fn, 'x');
      const kinds: (() => Observable<unknown>)[] = [
        () => clientOf().events(fn),
        () => clientOf().progress(fn),
        () => clientOf().watch(fn, job.id),
        () => job.progress$,
      ];
      const many = Array.from({ length: 32 }, (_, i) => kinds[i % kinds.length]?.().subscribe());
      await subscribed(fn, 1);
      for (const subscription of many.slice(1)) subscription?.unsubscribe();
      const events: JobEvent[] = [];
      const last = clientOf()
        .events(fn)
        .subscribe((event) => events.push(event));
      many[0]?.unsubscribe();
      await clientOf().run(fn, 'y');
      await eventually(() => expect(events.length).toBeGreaterThan(0));
      await expect(rigOf().subscriptions(fn)).resolves.toBe(1);
      last.unsubscribe();
      await unsubscribed(fn);
    });

    it('can be unsubscribed while they are still subscribing', async () => {
      const fn = rigOf().fn();
      for (let i = 0; i < 20; i++) clientOf().events(fn).subscribe().unsubscribe();
      const kept = clientOf().events(fn).pipe(take(1));
      const first = firstValueFrom(kept.pipe(timeout(PATIENCE_MS)));
      await subscribed(fn, 1);
      await clientOf().run(fn, 'x');
      await expect(first).resolves.toMatchObject({ type: 'create' });
      await unsubscribed(fn);
    });

    it('leave nothing behind after call, result and blocking', async () => {
      const fn = rigOf().fn();
      await runWorker(rigOf().source(), fn, () => 'out');
      await clientOf().call(fn, 'x', { timeout: '10s' });
      await (await clientOf().run(fn, 'x', { blocking: true, timeout: '10s' })).result();
      await expect(clientOf().call(fn, 1n)).rejects.toThrow('BigInt');
      await unsubscribed(fn);
    });
  });

  describe('events', () => {
    it('are create, start and finish of every job, in order', async () => {
      const fn = rigOf().fn();
      const events: JobEvent[] = [];
      const subscription = clientOf()
        .events(fn)
        .subscribe((event) => events.push(event));
      await subscribed(fn, 1);
      await runWorker(rigOf().source(), fn, () => 'out');
      await clientOf().call(fn, 'a', { timeout: '10s' });
      await clientOf().call(fn, 'b', { timeout: '10s' });
      await eventually(() => expect(events.length).toBeGreaterThanOrEqual(6));
      subscription.unsubscribe();
      expect(events).toEqual(
        ['1', '2'].flatMap((id) => ['create', 'start', 'finish'].map((type) => ({ type, fn, id }))),
      );
    });

    it('of a function do not include those of another', async () => {
      const [fn, other] = [rigOf().fn(), rigOf().fn()];
      const first = firstValueFrom(clientOf().events(fn).pipe(timeout(PATIENCE_MS)));
      await subscribed(fn, 1);
      await clientOf().run(other, 'x');
      await clientOf().run(fn, 'x');
      await expect(first).resolves.toMatchObject({ fn });
    });
  });

  describe('progress', () => {
    async function* threeSteps(_: unknown, job: { update(a: number, b: number): Promise<void> }) {
      for (const step of [1, 2, 3]) await job.update(step, 3);
      yield* [];
      return 'out';
    }

    it('of one job includes only its own updates, and completes when it has finished', async () => {
      const fn = rigOf().fn();
      const other = await clientOf().run(fn, 'other');
      const job = await clientOf().run(fn, 'x');
      const progress = all(job.progress$);
      await subscribed(fn, 1);
      await runWorker(rigOf().source(), fn, threeSteps);
      await expect(progress).resolves.toEqual(
        [1, 2, 3].map((dividend) => ({ fn, id: job.id, dividend, divisor: 3 })),
      );
      await expect(all(other.progress$)).resolves.toEqual([]);
    });

    it('of a function includes all its jobs', async () => {
      const fn = rigOf().fn();
      const seen: JobProgress[] = [];
      const subscription = clientOf()
        .progress(fn)
        .subscribe((progress) => seen.push(progress));
      await subscribed(fn, 1);
      await runWorker(rigOf().source(), fn, threeSteps);
      for (const input of ['a', 'b']) await clientOf().call(fn, input, { timeout: '10s' });
      await eventually(() => expect(seen.length).toBeGreaterThanOrEqual(6));
      subscription.unsubscribe();
      expect(seen.map(({ id, dividend }) => `${id}:${dividend}`)).toEqual([
        '1:1',
        '1:2',
        '1:3',
        '2:1',
        '2:2',
        '2:3',
      ]);
    });

    it('of a job that is not there is an error', async () => {
      await expect(all(clientOf().progress(rigOf().fn(), 9))).rejects.toThrow(JobNotFoundError);
    });
  });

  describe('watch', () => {
    it('emits the job now and after every change, and completes when it has finished', async () => {
      const fn = rigOf().fn();
      const [step, end] = [gate(), gate()];
      const job = await clientOf().run(fn, 'x');
      const seen: string[] = [];
      const done = lastValueFrom(
        clientOf()
          .watch(fn, job.id)
          .pipe(
            timeout(PATIENCE_MS),
            map(({ state, progress }) => `${state} ${progress?.dividend ?? '-'}`),
            map((state) => (seen.includes(state) ? state : seen[seen.push(state) - 1])),
          ),
      );
      await eventually(() => expect(seen).toContain('waiting -'));
      await runWorker(rigOf().source(), fn, async (_, running) => {
        await step.passed;
        await running.update(1, 2);
        await end.passed;
        return 'out';
      });
      await eventually(() => expect(seen).toContain('running -'));
      step.open();
      await eventually(() => expect(seen).toContain('running 1'));
      end.open();
      await expect(done).resolves.toBe('succeeded 1');
      expect(seen).toEqual(['waiting -', 'running -', 'running 1', 'succeeded 1']);
      await unsubscribed(fn);
    });

    it('of a finished job emits that job once', async () => {
      const fn = rigOf().fn();
      await runWorker(rigOf().source(), fn, () => 'out');
      const job = await clientOf().run(fn, 'x', { blocking: true, timeout: '10s' });
      const seen = await all(clientOf().watch(fn, job.id));
      expect(seen).toHaveLength(1);
      expect(seen[0]).toMatchObject({ state: 'succeeded', output: 'out' });
    });

    it('of a job that fails ends with its error as a snapshot', async () => {
      const fn = rigOf().fn();
      const job = await clientOf().run(fn, 'x');
      await runWorker(rigOf().source(), fn, () => Promise.reject(new Error('no')));
      const seen = await all(clientOf().watch(fn, job.id));
      expect(seen.at(-1)).toMatchObject({ state: 'failed', error: { message: 'no' } });
    });

    it('of a job that is not there is an error', async () => {
      const fn = rigOf().fn();
      await expect(all(clientOf().watch(fn, 9))).rejects.toThrow(JobNotFoundError);
      await unsubscribed(fn);
    });
  });
}
