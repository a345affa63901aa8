import { describe, expect, it } from '@jest/globals';
import type { Claim } from '../../lib/job/job-source.js';
import { eventually } from '../support/until.js';
import { failure, released, retry, snoozed, success } from './claiming.js';
import { held, HOUR_MS, idsOf, type Limited, type LimitedFunctions } from './limited.js';
import { pass, spanOf, type ClientRig } from './rig.js';

const STRICT = { order: 'strict' as const };

/** How the job of a strict key lets its key go. */
const LETS_GO: [string, (limited: Limited, claim: Claim, rig: ClientRig) => unknown][] = [
  ['succeeds', (limited, claim) => limited.settle(success(claim))],
  ['fails', (limited, claim) => limited.settle(failure(claim, 'no'))],
  ['is cancelled while it runs', (limited, claim) => limited.store.edits.cancel(limited.fn, claim)],
  [
    'is cancelled while it waits for its retry',
    async (limited, claim) => {
      await limited.settle(retry(claim, HOUR_MS));
      await limited.store.edits.cancel(limited.fn, claim);
    },
  ],
  [
    'is cancelled after its release',
    async (limited, claim) => {
      await limited.settle(released(claim));
      await limited.store.edits.cancel(limited.fn, claim);
    },
  ],
  [
    'loses its hash while it waits for its retry',
    async (limited, claim, rig) => {
      await limited.settle(retry(claim, 50));
      await rig.deleteHash(limited.fn, claim.id);
    },
  ],
  [
    'loses its hash after its release',
    async (limited, claim, rig) => {
      await limited.settle(released(claim));
      await rig.deleteHash(limited.fn, claim.id);
    },
  ],
];

/** The part of the limits' contract that is about `order: 'strict'`. */
export function strictContract(rigOf: () => ClientRig, functions: LimitedFunctions): void {
  describe('strict order', () => {
    it('runs one job of a key at a time, first in, first out, whichever workers take them', async () => {
      const one = await functions.open(STRICT);
      const two = await functions.open(STRICT, { fn: one.fn });
      const ids = [...idsOf(await one.add('a', 8)), ...idsOf(await two.add('a', 4))];
      const started: string[] = [];
      let running = 0;
      const abort = new AbortController();
      const work = async (limited: Limited) => {
        while (started.length < ids.length) {
          const slots = { of: () => 3, functions: () => [one.fn], onFree: () => () => undefined };
          const claims = await limited.source.claim(slots, abort.signal);
          running += claims.length;
          expect(running).toBeLessThanOrEqual(1);
          started.push(...idsOf(claims));
          await new Promise(setImmediate);
          running -= claims.length;
          await limited.settle(...claims.map((claim) => success(claim)));
          if (started.length >= ids.length) abort.abort();
        }
      };
      await Promise.all([work(one), work(two)]);
      expect(started).toEqual(ids);
    });

    it('lets keys go on beside each other', async () => {
      const limited = await functions.open(STRICT);
      const [a, b] = idsOf(await limited.addAll(['a', 'b', 'a', 'b']));
      await expect(limited.idsNow()).resolves.toEqual([a, b]);
    });

    it('tells which job holds a key', async () => {
      const limited = await functions.open(STRICT);
      const job = await limited.addOne('a');
      await limited.addOne('a');
      const before = await limited.state('a');
      expect(before).toMatchObject({ key: 'a', waiting: 2, running: 0, full: false });
      expect(before?.heldBy).toBeUndefined();
      const claim = await limited.claimOne();
      const state = { key: 'a', waiting: 1, running: 1, full: true, heldBy: job.id };
      await expect(limited.state('a')).resolves.toMatchObject(state);
      await limited.settle(retry(claim, HOUR_MS));
      await expect(limited.state('a')).resolves.toMatchObject({ ...state, running: 0 });
    });

    it('tells which job holds a key that has no other', async () => {
      const limited = await functions.open(STRICT);
      const job = await limited.addOne('a');
      await limited.settle(snoozed(await limited.claimOne(), HOUR_MS));
      await expect(limited.store.limits.read(limited.fn, { size: 5 })).resolves.toEqual([
        { key: 'a', waiting: 0, running: 0, full: true, heldBy: job.id },
      ]);
    });

    it("keeps a plain client's job of high priority first that was released", async () => {
      const limited = await functions.open(STRICT);
      const high = await rigOf().submit(limited.fn, 'a:high', { queue: 'high' });
      const claim = await limited.claimOne();
      const next = await limited.addOne('a');
      await limited.settle(released(claim));
      await expect(limited.run(2)).resolves.toEqual([high, next.id]);
    });

    it('may be given up and taken up again while a job runs, which holds its key no longer', async () => {
      const limited = await functions.open(STRICT);
      await limited.addOne('a');
      const claim = await limited.claimOne();
      await functions.open({ concurrency: 1 }, { fn: limited.fn });
      await limited.settle(success(claim));
      await functions.open(STRICT, { fn: limited.fn });
      const next = await limited.addOne('a');
      await expect(limited.claimOne()).resolves.toMatchObject({ id: next.id });
    });

    it.each([
      ['its retry', retry],
      ['its end of a snooze', snoozed],
      ['its release', released],
      ['the end of a held key', held],
    ])('keeps a job first until %s', async (what, outcome) => {
      const limited = await functions.open(STRICT);
      const ids = idsOf(await limited.add('a', 3));
      const claim = await limited.claimOne();
      await limited.settle(outcome(claim, spanOf(rigOf())));
      if (what !== 'its release') await expect(limited.idsNow()).resolves.toEqual([]);
      await pass(rigOf(), spanOf(rigOf()));
      await expect(limited.run(3)).resolves.toEqual(ids);
    });

    it('starts no other while a job waits for its retry', async () => {
      const limited = await functions.open(STRICT);
      await limited.add('a', 3);
      await limited.settle(retry(await limited.claimOne(), HOUR_MS));
      await expect(limited.idsNow()).resolves.toEqual([]);
      await limited.addOne('a');
      await expect(limited.idsNow()).resolves.toEqual([]);
    });

    it('keeps a job first whose worker was lost', async () => {
      const lease = spanOf(rigOf());
      const limited = await functions.open(STRICT, { lease });
      const ids = idsOf(await limited.add('a', 2));
      await limited.claimOne();
      await pass(rigOf(), lease);
      await expect(limited.claimOne()).resolves.toMatchObject({ id: ids[0], stalls: 1 });
    });

    it.each(LETS_GO)('lets the next job start when one %s', async (_, end) => {
      const limited = await functions.open(STRICT);
      const ids = idsOf(await limited.add('a', 2));
      await end(limited, await limited.claimOne(), rigOf());
      await eventually(async () => expect(await limited.idsNow()).toEqual([ids[1]]));
    });

    it('lets the next job start when one that was released expires', async () => {
      const limited = await functions.open(STRICT);
      const expires = Date.now() + spanOf(rigOf());
      await limited.addOne('a', { expires, options: JSON.stringify({ expires }) });
      const next = await limited.addOne('a');
      await limited.settle(released(await limited.claimOne()));
      await pass(rigOf(), spanOf(rigOf()) + 1);
      await expect(limited.claimOne()).resolves.toMatchObject({ id: next.id });
    });

    it.each([
      ['failed', (limited: Limited, claim: Claim) => limited.settle(failure(claim, 'no'))],
      ['cancelled', (limited: Limited, claim: Claim) => limited.store.edits.cancel(limited.fn, claim)],
    ] as const)(
      'puts a job that was %s and is retried behind those of its key, alone',
      async (state, end) => {
        const limited = await functions.open(STRICT);
        const [first, second, third] = idsOf(await limited.add('a', 3));
        await end(limited, await limited.claimOne());
        await expect(rigOf().client().retry(limited.fn, { state }).done).resolves.toBe(1);
        await expect(limited.field(first ?? '', 'key')).resolves.toBe('a');
        await expect(limited.state('a')).resolves.toMatchObject({ waiting: 3, running: 0 });
        for (const id of [second, third, first]) {
          const claims = await limited.claimNow();
          expect(idsOf(claims)).toEqual([id]);
          await limited.settle(...claims.map((claim) => success(claim)));
        }
        await expect(limited.state('a')).resolves.toBeUndefined();
      },
    );

    it('runs a scheduled job after those that were there when it was due', async () => {
      const limited = await functions.open(STRICT);
      const due = await limited.addOne('a', { queue: 'scheduled', delay: spanOf(rigOf()) });
      const ids = idsOf(await limited.add('a', 2));
      const claim = await limited.claimOne();
      await pass(rigOf(), spanOf(rigOf()));
      await eventually(async () => {
        await limited.idsNow();
        expect((await limited.state('a'))?.waiting).toBe(2);
      });
      const last = await limited.addOne('a');
      await limited.settle(success(claim));
      await expect(limited.run(3)).resolves.toEqual([ids[1], due.id, last.id]);
    });

    it('is not changed by a number', async () => {
      const limited = await functions.open({ ...STRICT, rate: { max: 1, per: HOUR_MS } });
      const ids = idsOf(await limited.add('a', 3));
      await limited.store.limits.set(limited.fn, { concurrency: 5 });
      await expect(limited.idsNow()).resolves.toEqual([ids[0]]);
      await expect(limited.idsNow()).resolves.toEqual([]);
    });
  });
}
