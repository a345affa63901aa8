import { expect, it } from '@jest/globals';
import {
  CallFailures,
  RoundTrips,
  type RoundTripOptions,
} from '../../lib/gearmonkey/core/source/round-trips.js';
import { keysOf } from '../../lib/gearmonkey/core/wire/protocol.js';
import { keepRules } from '../../lib/job/keep.js';
import { ConnectionError } from '../../lib/job/server-errors.js';

/** Where a call has, behind its name and its keys, whether the worker makes keys, and how long ended jobs are kept. */
const [MAKES_KEYS, KEPT] = [6, 7];

it('goes by what held for a function when the worker was last opened for it', async () => {
  const sent: unknown[] = [];
  const redis = {
    callBuffer: async (_: string, [, keys, ...rest]: [string, number, ...string[]]) => {
      const args = rest.slice(keys);
      sent.push([args[MAKES_KEYS], args[KEPT]]);
      throw ConnectionError.closed();
    },
  };
  let rules = { isLimited: false, keep: keepRules({}) };
  const trips = new RoundTrips('fn', {
    ...{ keysOf, worker: 'w', lease: 8000, pollInterval: 0, maxStalls: 3, maxPayloadBytes: 1 },
    failures: new CallFailures(),
    connection: { ready: async () => redis },
    rulesOf: () => rules,
  } as never as RoundTripOptions);
  const call = { outcomes: 0, slots: 1 };
  await trips.make(call);
  rules = { isLimited: true, keep: keepRules({ success: { age: 5000 } }) };
  await trips.make(call);
  trips.reopen();
  await trips.make(call);
  const before = ['', ''];
  expect(sent).toEqual([before, before, [1, expect.stringMatching(/^5:/)]]);
});
