import { describe, expect, it } from '@jest/globals';
import { gate } from '../support/gate.js';
import { holdEventLoop } from '../support/hold-event-loop.js';
import { runWorker, stopWorkersAfterEach } from '../support/run-worker.js';
import { eventually } from '../support/until.js';
import { memoryRig } from './embedded-rig.js';

/** The shortest that an app may have. */
const LEASE_MS = 2000;

describe('The embedded server in a process that is busy', () => {
  stopWorkersAfterEach();

  it('keeps jobs of workers that could not renew their leases', async () => {
    const rig = await memoryRig();
    const client = rig.client();
    const [begun, end] = [[] as unknown[], gate()];
    const log = [];
    const waits = async (input: unknown) => {
      begun.push(input);
      await end.passed;
      return input;
    };
    // The one that waits, and two more who would take its job: on its own source, and on another.
    const first = await runWorker(rig.source({ lease: LEASE_MS }), 'waits', waits, { concurrency: 2 });
    const second = await runWorker(rig.source({ lease: LEASE_MS }), 'waits', waits, { concurrency: 2 });
    const busy = await runWorker(rig.source({ lease: LEASE_MS }), 'busy', () =>
      holdEventLoop(LEASE_MS * 1.5),
    );
    const jobs = await client.runMany('waits', ['a', 'b']);
    await eventually(() => expect(begun).toHaveLength(2));
    for (let round = 0; round < 4; round++) await client.call('busy', round, { timeout: '20s' });
    end.open();
    await expect(Promise.all(jobs.map((job) => job.result({ timeout: '20s' })))).resolves.toEqual(['a', 'b']);
    log.push(...first.said, ...second.said, ...busy.said);
    expect([begun.sort(), log]).toEqual([['a', 'b'], []]);
    await expect(jobs[0]?.get()).resolves.toMatchObject({ attempts: 1 });
  });

  it('accepts the outcome of a handler that blocked it for longer than a lease', async () => {
    const rig = await memoryRig();
    let runs = 0;
    const handle = () => {
      holdEventLoop(LEASE_MS * 2);
      return (runs += 1);
    };
    const { said } = await runWorker(rig.source({ lease: LEASE_MS }), 'fn', handle, { concurrency: 3 });
    await expect(rig.client().call('fn', 'x', { timeout: '20s' })).resolves.toBe(1);
    expect([runs, said]).toEqual([1, []]);
  });

  it('leaves room for timers while jobs enqueue each other without a pause', async () => {
    const rig = await memoryRig();
    const client = rig.client();
    let ran = 0;
    let isEnding = false;
    await runWorker(rig.source(), 'loop', async () => {
      ran += 1;
      if (!isEnding) await client.run('loop', ran);
    });
    await client.run('loop', 0);
    await eventually(() => expect(ran).toBeGreaterThan(10));
    isEnding = true;
  });
});
