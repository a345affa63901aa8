import { afterAll, afterEach, beforeAll, describe } from '@jest/globals';
import type { GearMonkeyClient } from '../../lib/gearmonkey/client.js';
import { cancelContract } from '../contract/cancel-contract.js';
import { flowsContract } from '../contract/flows-contract.js';
import { observableContract } from '../contract/observable-contract.js';
import { pauseContract } from '../contract/pause-contract.js';
import type { ClientRig } from '../contract/rig.js';
import { stopWorkers } from '../support/run-worker.js';
import { clusterRig } from './cluster-rig.js';

// What goes by messages, which a node tells its own subscribers, or over several slots. That all else has one slot,
// test/gearmonkey/contract.spec.ts shows on one server; the moves and failures of masters are in cluster.full.ts.
describe('the contract of gearmonkey on a cluster', () => {
  let rig: ClientRig;
  let client: GearMonkeyClient;

  beforeAll(async () => {
    rig = await clusterRig();
    client = rig.client();
  });
  afterEach(stopWorkers);
  afterAll(() => rig.close());

  observableContract(
    () => rig,
    () => client,
  );
  cancelContract(
    () => rig,
    () => client,
  );
  pauseContract(() => rig);
  flowsContract(() => rig);
});
