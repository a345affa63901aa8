import { contractRig } from './contract-rig.js';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { claimOne, success } from '../contract/claiming.js';
import type { ClientRig } from '../contract/rig.js';
import { statesContract } from '../contract/states-contract.js';
import { withClock } from '../support/wrong-clock.js';
import { useGearMonkey } from './use-gearmonkey.js';

const HOUR_MS = 3_600_000;

describe('GearMonkey', () => {
  let rig: ClientRig;
  beforeAll(async () => {
    rig = await contractRig();
  });
  afterEach(() => rig.endTest?.());
  afterAll(() => rig.close());
  statesContract(() => rig);
});

describe('the hash of a job', () => {
  const rig = useGearMonkey();

  it('has no more fields for it unless the job is cancelled', async () => {
    const fn = rig.fn();
    const source = rig.source();
    const [done, cancelled] = await rig.client.runMany(fn, [1, 2]);
    await source.settle([success(await claimOne(source, fn), '1')]);
    await cancelled?.cancel();
    const fieldsOf = async (id = '') => (await rig.redis.hkeys(`job:${fn}:${id}`)).toSorted();
    await expect(fieldsOf(done?.id)).resolves.toEqual([
      ...[
        'attempts',
        'created',
        'finished',
        'input',
        'mark',
        'output',
        'settled',
        'started',
        'status',
        'token',
      ],
    ]);
    await expect(fieldsOf(cancelled?.id)).resolves.toEqual([
      ...['cancelled', 'created', 'error', 'finished', 'input', 'mark', 'output', 'status'],
    ]);
    await source.close();
  });

  it.each([-2 * HOUR_MS, 2 * HOUR_MS])(
    'is read by the clock of the server, not by one %i ms off',
    async (off) => {
      const fn = rig.fn();
      const [soon, late] = [await rig.client.run(fn, 1), await rig.client.run(fn, 2, { delay: HOUR_MS })];
      const states = await withClock(off, async () => [(await soon.get()).state, (await late.get()).state]);
      expect(states).toEqual(['waiting', 'scheduled']);
    },
  );
});
