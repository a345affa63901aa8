import { describe, expect, it } from '@jest/globals';
import { defineJob } from '../../../lib/job/job-definition.js';
import { LimitFullError } from '../../../lib/job/limit-errors.js';
import type { LimitOptions } from '../../../lib/job/limit.js';
import { runWorker } from '../../support/run-worker.js';
import { eventually, until } from '../../support/until.js';
import { subscriptions } from '../redis-rig.js';
import { useGearMonkey } from '../use-gearmonkey.js';

const CLIENTS = 100;

describe('A hundred clients that enqueue jobs of one key at the same time', () => {
  const rig = useGearMonkey();

  function setup(limit: LimitOptions<number>) {
    const job = defineJob<number, number>(rig.fn(), { limit: { key: () => 'a', concurrency: 1, ...limit } });
    const clients = Array.from({ length: CLIENTS / 10 }, () => rig.newClient());
    const clientOf = (i: number) => clients[i % clients.length] ?? rig.client;
    return { job, clientOf, numbers: Array.from({ length: CLIENTS }, (_, i) => i) };
  }

  it("have one unfinished job at most with onFull: 'refuse'", async () => {
    const { job, clientOf, numbers } = setup({ onFull: 'refuse' });
    let [ran, accepted, unfinished, most, finished] = [0, 0, 0, 0, 0];
    const events = rig.client.events(job).subscribe(({ type }) => {
      if (type === 'create') most = Math.max(most, ++unfinished);
      if (type !== 'finish') return;
      unfinished -= 1;
      finished += 1;
    });
    await until(async () => (await subscriptions(rig.redis, job.name)) === 1);
    await runWorker(rig.source(), job, (input) => {
      ran += 1;
      return input;
    });
    for (let round = 0; round < 5; round++) {
      const runs = await Promise.allSettled(numbers.map((i) => clientOf(i).run(job, i)));
      const created = runs.flatMap((run) => (run.status === 'fulfilled' ? [run.value] : []));
      const refusals = runs.flatMap((run) => (run.status === 'rejected' ? [run.reason as unknown] : []));
      expect(created.length).toBeGreaterThan(0);
      expect(refusals.filter((error) => !(error instanceof LimitFullError))).toEqual([]);
      accepted += created.length;
      const outputs = await Promise.all(created.map((handle) => handle.result({ timeout: '60s' })));
      expect(new Set(outputs).size).toBe(created.length);
    }
    expect(ran).toBe(accepted);
    await eventually(() => expect(finished).toBe(accepted));
    expect(most).toBe(1);
    events.unsubscribe();
  });

  it.each(['waiting', 'running'] as const)(
    "have a handle each that ends with its own output with onFull: 'replace', %s",
    async (replace) => {
      const { job, clientOf, numbers } = setup({ onFull: 'replace', replace });
      await runWorker(rig.source(), job, (input) => input, { concurrency: 3 });
      const handles = await Promise.all(numbers.map((i) => clientOf(i).run(job, i)));
      expect(new Set(handles.map(({ id }) => id)).size).toBe(CLIENTS);
      const ends = await Promise.allSettled(handles.map((handle) => handle.result({ timeout: '60s' })));
      const succeeded = ends.filter((end) => end.status === 'fulfilled');
      expect(succeeded.length).toBeGreaterThan(0);
      for (const [i, end] of ends.entries()) {
        if (end.status === 'fulfilled') expect(end.value).toBe(i);
        else expect(end.reason).toMatchObject({ error: { code: 'JOB_CANCELLED' } });
      }
      const last = handles.toSorted((one, other) => Number(one.id) - Number(other.id)).at(-1);
      await expect(last?.get()).resolves.toMatchObject({ state: 'succeeded' });
      await expect(rig.client.limits(job)).resolves.toEqual([]);
    },
  );
});
