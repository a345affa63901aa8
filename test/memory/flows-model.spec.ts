import { afterAll, beforeAll, describe, it } from '@jest/globals';
import fc from 'fast-check';
import type { ClientRig } from '../contract/rig.js';
import { checkFlow, FlowLog, flows } from '../model/flow-model.js';
import { runWorker, stopWorkers } from '../support/run-worker.js';
import { memoryRig } from './memory-rig.js';

const RUNS = 300;

describe('random flows', () => {
  let rig: ClientRig;
  beforeAll(async () => {
    rig = await memoryRig();
  });
  afterAll(async () => {
    await stopWorkers();
    await rig.close();
  });

  it('run and end as the model says', async () => {
    const functions = [rig.fn(), rig.fn()] as const;
    const [client, log] = [rig.client(), new FlowLog()];
    for (const fn of functions) await runWorker(rig.source(), fn, log.handle, { concurrency: 5 });
    let number = 0;
    const check = (jobs: Parameters<typeof checkFlow>[2]) =>
      checkFlow(client, functions, jobs, log, `flow-${(number += 1)}`);
    await fc.assert(fc.asyncProperty(flows, check), { numRuns: RUNS, interruptAfterTimeLimit: 60_000 });
  });
});
