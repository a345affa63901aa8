import { afterEach, describe, expect, it } from '@jest/globals';
import { setImmediate as turn } from 'node:timers/promises';
import { PythonActor, stopActors } from '../conformance/python-actor.js';
import { defineJob } from '../../lib/job/job-definition.js';
import type { RunningJob } from '../../lib/worker/running-job.js';
import { runWorker } from '../support/run-worker.js';
import { useGearMonkey } from './use-gearmonkey.js';

const KEYS = ['a', 'b', 'c', 'd'];

describe('Workers with a limit, without it, and plain ones of one function', () => {
  const rig = useGearMonkey();

  afterEach(stopActors);

  function setup() {
    const fn = rig.fn();
    const limited = defineJob<string, string>(fn, {
      limit: { key: (input) => input.charAt(0), concurrency: 1 },
    });
    const ran: string[] = [];
    const running = new Map<string, number>();
    let most = 0;
    const handle = async (input: unknown, { id }: RunningJob) => {
      const key = String(input).charAt(0);
      running.set(key, (running.get(key) ?? 0) + 1);
      // Jobs of clients without the limit have no key where the worker has none either.
      if (!String(input).endsWith('plain')) most = Math.max(most, running.get(key) ?? 0);
      await turn();
      running.set(key, (running.get(key) ?? 1) - 1);
      ran.push(id);
      return String(input).toUpperCase();
    };
    return { fn, limited, handle, ran, most: () => most };
  }

  async function python(fn: string): Promise<PythonActor> {
    const actor = new PythonActor('worker', [rig.url, fn]);
    await expect(actor.line()).resolves.toEqual({ ready: true });
    return actor;
  }

  it('run each job of clients with and without the limit once', async () => {
    const { fn, limited, handle, ran } = setup();
    await runWorker(rig.source(), limited, handle, { concurrency: 5 });
    await runWorker(rig.source(), fn, handle, { concurrency: 5 });
    await python(fn);
    const keyed = await rig.client.runMany(
      limited,
      Array.from({ length: 80 }, (_, i) => `${KEYS[i % KEYS.length]}${i}`),
    );
    const plain = await rig.newClient().runMany(
      fn,
      Array.from({ length: 40 }, (_, i) => `${KEYS[i % KEYS.length]}${i} plain`),
    );
    for (const job of [...keyed, ...plain]) {
      const output = await job.result({ timeout: '60s' });
      await expect(job.get()).resolves.toMatchObject({ state: 'succeeded', output });
    }
    const ids = keyed.map(({ id }) => id);
    // What the plain worker took had no key.
    expect(ran.filter((id) => ids.includes(id)).toSorted()).toEqual(ids.toSorted());
    expect(new Set(ran).size).toBe(ran.length);
    await expect(rig.client.limits(limited)).resolves.toEqual([]);
  });

  it('keep the limit of jobs that have a key', async () => {
    const { fn, limited, handle, ran, most } = setup();
    await runWorker(rig.source(), limited, handle, { concurrency: 5 });
    await runWorker(rig.source(), fn, handle, { concurrency: 5 });
    const jobs = await rig.client.runMany(
      limited,
      Array.from({ length: 80 }, (_, i) => `${KEYS[i % KEYS.length]}${i}`),
    );
    for (const job of jobs) await job.result({ timeout: '60s' });
    expect(most()).toBe(1);
    expect(ran).toHaveLength(80);
  });

  it('leave a job with a key to those of this package: a plain worker takes none', async () => {
    const { fn, limited, handle } = setup();
    const actor = await python(fn);
    const keyed = await rig.client.run(limited, 'a1');
    const plain = await rig.newClient().run(fn, 'plain');
    await expect(actor.line()).resolves.toMatchObject({ started: Number(plain.id) });
    await expect(plain.result({ timeout: '60s' })).resolves.toBe('PLAIN');
    await expect(keyed.get()).resolves.toMatchObject({ state: 'waiting' });
    await runWorker(rig.source(), fn, handle);
    await expect(keyed.result({ timeout: '60s' })).resolves.toBe('A1');
  });
});
