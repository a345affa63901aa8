import TestSequencer from '@jest/test-sequencer';

/**
 * Suites that take longest, first; the two that start most programs not at the same time. Jest knows only their sizes
 * on a fresh machine, and would begin some of these last, with idle cores until they end.
 */
const LONGEST = [
  'scaling/cluster-contract',
  'chaos/chaos',
  'gearmonkey/contract',
  'bundlers/bundlers',
  'scaling/failover',
  'bench/peers',
  'package',
  'gearmonkey/held-leases',
  'jobd/daemon/history',
  'dashboard/page',
  'dashboard/page-safety',
  'jobd/source/contract',
  'memory/contract',
  'jq/kills/lost-replies',
  'testing/runners',
  'gearmonkey/flow-kills',
  'bench/jq',
  'bench/option-suites',
];

export default class LongestFirst extends TestSequencer {
  sort(tests) {
    const place = ({ path }) => {
      const found = LONGEST.findIndex((name) => path.endsWith(`/test/${name}.spec.ts`));
      return found < 0 ? LONGEST.length : found;
    };
    return super.sort(tests).sort((a, b) => place(a) - place(b));
  }
}
