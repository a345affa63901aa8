import { describe, expect, it } from '@jest/globals';
import { lastValueFrom, toArray, type Observable } from 'rxjs';
import type { GearMonkeyClient } from '../../lib/gearmonkey/client.js';
import { ConnectionError } from '../../lib/job/server-errors.js';
import { defineJob } from '../../lib/job/job-definition.js';
import { gate } from '../support/gate.js';
import { runWorker } from '../support/run-worker.js';
import { eventually } from '../support/until.js';
import { subscribed, type ClientRig } from './rig.js';

/** The part of the client's contract that is about its end. */
export function closeContract(rigOf: () => ClientRig): void {
  const observablesOf = (client: GearMonkeyClient, fn: string, id: string): Observable<unknown>[] => [
    client.events(fn),
    client.progress(fn),
    client.progress(fn, id),
    client.watch(fn, id),
  ];
  const all = (observables: Observable<unknown>[]) =>
    Promise.all(observables.map((observable) => lastValueFrom(observable.pipe(toArray()))));

  describe('close', () => {
    it('completes all observables and rejects waiting calls', async () => {
      const fn = rigOf().fn();
      const client = rigOf().client();
      const only = client.only([defineJob(fn)]);
      const { id } = await client.run(fn, 'x');
      const observed = all([...observablesOf(client, fn, id), ...observablesOf(only, fn, id)]);
      const waiting = [
        client.call(fn, 'y'),
        client.run(fn, 'y', { blocking: true }),
        client.result(fn, id),
        only.result(fn, id),
      ].map((promise) => expect(promise).rejects.toThrow(ConnectionError));
      await subscribed(rigOf(), fn);
      await eventually(async () => expect(await client.get(fn, 3)).not.toBe(null));
      await client.close();
      await Promise.all(waiting);
      const [events, , , [first]] = (await observed) as [unknown[], unknown[], unknown[], unknown[]];
      expect(events).not.toContainEqual(expect.objectContaining({ type: 'finish' }));
      expect([undefined, expect.objectContaining({ state: 'waiting' })]).toContainEqual(first);
    });

    it('throws nothing at subscribers without an error handler', async () => {
      const fn = rigOf().fn();
      const client = rigOf().client();
      const { id } = await client.run(fn, 'x');
      const completed = gate();
      for (const observable of observablesOf(client, fn, id)) observable.subscribe(() => undefined);
      client.watch(fn, id).subscribe({ complete: completed.open });
      await client.close();
      await completed.passed;
    });

    it('makes the client refuse calls, and its observables complete', async () => {
      const fn = rigOf().fn();
      const client = rigOf().client();
      const { id } = await client.run(fn, 'x');
      await client.close();
      for (const asking of [
        () => client.run(fn, 'x'),
        () => client.call(fn, 'x'),
        () => client.runMany(fn, ['x']),
        () => client.get(fn, id),
        () => client.result(fn, id),
        () => client.cancel(fn, id),
        () => client.rollCall(fn),
      ])
        await expect(asking()).rejects.toThrow(ConnectionError);
      await expect(all(observablesOf(client, fn, id))).resolves.toEqual([[], [], [], []]);
      await expect(rigOf().client().get(fn, 2)).resolves.toBeNull();
    });
  });

  describe('endObservers', () => {
    it('completes all observables, and waiting calls continue', async () => {
      const fn = rigOf().fn();
      const client = rigOf().client();
      const { id } = await client.run(fn, 'x');
      const observed = all(observablesOf(client, fn, id));
      const calling = client.call(fn, 'y');
      await subscribed(rigOf(), fn);
      client.endObservers();
      await observed;
      await expect(all(observablesOf(client, fn, id))).resolves.toEqual([[], [], [], []]);
      await runWorker(rigOf().source(), fn, (input) => input);
      await expect(calling).resolves.toBe('y');
      await expect(client.call(fn, 'z')).resolves.toBe('z');
      await client.close();
    });
  });
}
