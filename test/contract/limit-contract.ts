import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/until.js';
import { claimOne, failure, inputOf, released, retry, snoozed, success } from './claiming.js';
import { fullLimitContract } from './full-limit-contract.js';
import { limitNumbersContract } from './limit-numbers-contract.js';
import { HOUR_MS, idsOf, LimitedFunctions, type Limited } from './limited.js';
import { limitedDrainContract } from './limited-drain-contract.js';
import { rateContract } from './rate-contract.js';
import { pass, spanOf, type ClientRig } from './rig.js';
import { sharedLimitContract } from './shared-limit-contract.js';
import { strictContract } from './strict-contract.js';
import { unfiledContract } from './unfiled-contract.js';

type Claimed = Awaited<ReturnType<Limited['claimOne']>>;

/** Ways in which a job of a key frees its place, and which of the key's jobs may start next. */
const ENDINGS: [
  string,
  'itself' | 'the next',
  (limited: Limited, claim: Claimed, rig: ClientRig) => unknown,
][] = [
  ['succeeds', 'the next', (limited, claim) => limited.settle(success(claim))],
  ['fails', 'the next', (limited, claim) => limited.settle(failure(claim, 'no'))],
  ['is to be tried again later', 'the next', (limited, claim) => limited.settle(retry(claim, HOUR_MS))],
  ['is snoozed', 'the next', (limited, claim) => limited.settle(snoozed(claim, HOUR_MS))],
  ['is released', 'itself', (limited, claim) => limited.settle(released(claim))],
  ['is cancelled', 'the next', (limited, claim) => limited.store.edits.cancel(limited.fn, claim)],
  [
    'succeeds, but has no hash any more',
    'the next',
    async (limited, claim, rig) => {
      await rig.deleteHash(limited.fn, claim.id);
      await limited.settle(success(claim));
    },
  ],
];

/** What a limit does, on each server that has the capability `limits`. */
export function limitContract(name: string, setup: () => Promise<ClientRig>): void {
  describe(`Limits: ${name}`, () => {
    let rig: ClientRig;
    const functions = new LimitedFunctions(() => rig);

    beforeAll(async () => {
      rig = await setup();
    });
    afterEach(() => functions.close());
    afterEach(() => rig.endTest?.());
    afterAll(() => rig.close());

    describe('concurrency', () => {
      it('lets as many jobs of a key run, and the next when one of them has ended', async () => {
        const limited = await functions.open({ concurrency: 2 });
        const ids = idsOf(await limited.add('a', 4));
        const [first, second] = await limited.claimNow();
        expect([first?.id, second?.id]).toEqual(ids.slice(0, 2));
        await expect(limited.idsNow()).resolves.toEqual([]);
        if (second) await limited.settle(success(second));
        await expect(limited.idsNow()).resolves.toEqual([ids[2]]);
      });

      it.each(ENDINGS)('frees the place of a job that %s: %s may start', async (_, which, end) => {
        const limited = await functions.open({ concurrency: 1 });
        const [own, next] = idsOf(await limited.add('a', 2));
        const claim = await limited.claimOne();
        expect(claim.id).toBe(own);
        await end(limited, claim, rig);
        await expect(limited.idsNow()).resolves.toEqual([which === 'itself' ? own : next]);
      });

      it.each([
        ['its worker is lost', 'itself', false],
        ['its worker is lost and its hash deleted', 'the next', true],
      ])('frees the place of a job when %s: %s may start', async (_, which, deletes) => {
        const lease = spanOf(rig);
        const limited = await functions.open({ concurrency: 1 }, { lease });
        const [own, next] = idsOf(await limited.add('a', 2));
        const claim = await limited.claimOne();
        if (deletes) await rig.deleteHash(limited.fn, claim.id);
        await pass(rig, lease);
        await eventually(async () =>
          expect(await limited.idsNow()).toEqual([which === 'itself' ? own : next]),
        );
      });

      it('frees the place of a job that was lost too often', async () => {
        const lease = spanOf(rig);
        const limited = await functions.open({ concurrency: 1 }, { lease });
        const [own, next] = idsOf(await limited.add('a', 2));
        const seen = new Set<string>();
        while (seen.size < 2) {
          for (const id of await limited.idsNow()) seen.add(id);
          await pass(rig, lease);
        }
        expect([...seen]).toEqual([own, next]);
        await expect(rig.stored(limited.fn, own ?? '')).resolves.toMatchObject({ code: 'JOB_STALLED' });
      });

      it('is counted for all workers, and one that waits gets the place that is freed', async () => {
        const limited = await functions.open({ concurrency: 1 });
        const other = await functions.open({ concurrency: 1 }, { fn: limited.fn });
        const ids = idsOf(await limited.add('a', 2));
        const claim = await limited.claimOne();
        const waits = other.claimOne();
        await expect(limited.state('a')).resolves.toMatchObject({ waiting: 1, running: 1 });
        await limited.settle(success(claim));
        await expect(waits).resolves.toMatchObject({ id: ids[1] });
      });

      it('leaves no place behind: a key whose jobs have ended is not listed', async () => {
        const limited = await functions.open({ concurrency: 2 });
        await limited.addAll(['a', 'b', 'a', 'b', 'a']);
        await limited.run(5);
        await expect(limited.store.limits.read(limited.fn, { size: 10 })).resolves.toEqual([]);
      });
    });

    describe('turns', () => {
      /** The first letters of inputs in the order the jobs start, with as few claims as the source needs. */
      const inputs = async (limited: Limited, count: number) => {
        const seen: (string | undefined)[] = [];
        while (seen.length < count) {
          const claims = await limited.claimUpTo(9);
          seen.push(...claims.map((claim) => inputOf(claim)[0]));
        }
        return seen;
      };

      it('are taken by keys, in one claim or in many', async () => {
        const limited = await functions.open({ concurrency: 10 });
        const keys = ['a', 'a', 'a', 'a', 'b', 'b', 'c'];
        await limited.addAll(keys);
        await expect(inputs(limited, 7)).resolves.toEqual(['a', 'b', 'c', 'a', 'b', 'a', 'a']);
        await limited.addAll(keys);
        const seen: (string | undefined)[] = [];
        for (const _ of keys) seen.push(inputOf(await limited.claimOne())[0]);
        expect(seen).toEqual(['a', 'b', 'c', 'a', 'b', 'a', 'a']);
      });

      it('are taken within a priority', async () => {
        const limited = await functions.open({ concurrency: 10 });
        await limited.addAll(['a', 'b'], { queue: 'low' });
        await limited.addAll(['a', 'b'], { queue: 'normal' });
        await limited.addAll(['c', 'c', 'a'], { queue: 'high' });
        await expect(inputs(limited, 7)).resolves.toEqual(['c', 'a', 'c', 'a', 'b', 'a', 'b']);
      });

      it('come after those of others for a key that has just been served, full or not', async () => {
        const limited = await functions.open({ concurrency: 1 });
        await limited.addAll(['a', 'a', 'a', 'b', 'b', 'c']);
        const seen: (string | undefined)[] = [];
        for (let round = 0; round < 6; round++) {
          const claim = await limited.claimOne();
          seen.push(inputOf(claim)[0]);
          await limited.settle(success(claim));
        }
        expect(seen).toEqual(['a', 'b', 'c', 'a', 'b', 'a']);
      });

      it('put the oldest job of a key first', async () => {
        const limited = await functions.open({ concurrency: 1 });
        const ids = [await limited.addOne('a'), ...(await limited.add('a', 3)), await limited.addOne('a')];
        await expect(limited.run(5)).resolves.toEqual(idsOf(ids));
      });

      it('put a job that is given back or tried again before the others of its key', async () => {
        const limited = await functions.open({ concurrency: 1 });
        const [first, second, third] = idsOf(await limited.add('a', 3));
        await limited.settle(released(await limited.claimOne()));
        await limited.settle(retry(await limited.claimOne(), 0));
        await limited.settle(snoozed(await limited.claimOne(), 0));
        await expect(limited.run(3)).resolves.toEqual([first, second, third]);
      });

      it('put a scheduled job behind those that wait when it is due', async () => {
        const limited = await functions.open({ concurrency: 1 });
        const due = await limited.addOne('a', { queue: 'scheduled', score: 1 });
        const claim = await limited.claimOne();
        expect(claim.id).toBe(due.id);
        const waiting = await limited.addOne('a');
        const dueLater = await limited.addOne('a', { queue: 'scheduled', delay: spanOf(rig) });
        await pass(rig, spanOf(rig));
        await eventually(async () => {
          await limited.idsNow();
          expect((await limited.state('a'))?.waiting).toBe(2);
        });
        await limited.settle(success(claim));
        await expect(limited.run(2)).resolves.toEqual([waiting.id, dueLater.id]);
      });
    });

    describe('a full key', () => {
      it('holds up neither other keys nor jobs without a key', async () => {
        const limited = await functions.open({ concurrency: 1 });
        await limited.add('full', 500);
        const busy = await limited.claimOne();
        const [other] = await limited.add('other', 1, { queue: 'low' });
        await expect(limited.claimOne()).resolves.toMatchObject({ id: other?.id });
        const source = rig.source();
        await source.open([limited.fn]);
        const plain = await rig.submit(limited.fn, 'x', { queue: 'low' });
        await expect(claimOne(source, limited.fn)).resolves.toMatchObject({ id: plain, attempts: 1 });
        await source.close();
        await limited.settle(success(busy));
      });

      it('starts no expired job when it has a place again', async () => {
        const limited = await functions.open({ concurrency: 1 });
        const claim = await limited.addOne('a').then(() => limited.claimOne());
        const expires = Date.now() + spanOf(rig);
        const late = await limited.addOne('a', { expires, options: JSON.stringify({ expires }) });
        const next = await limited.addOne('a');
        await pass(rig, spanOf(rig) + 5);
        await limited.settle(success(claim));
        await expect(limited.idsNow()).resolves.toEqual([next.id]);
        await expect(rig.stored(limited.fn, late.id)).resolves.toMatchObject({ code: 'JOB_EXPIRED' });
      });

      it('forgets a job that waits and is cancelled or loses its hash', async () => {
        const limited = await functions.open({ concurrency: 1 });
        const [, second, third, fourth] = await limited.add('a', 4);
        const claim = await limited.claimOne();
        if (second) await limited.store.edits.cancel(limited.fn, second);
        await rig.deleteHash(limited.fn, third?.id ?? '');
        await limited.settle(success(claim));
        await expect(limited.idsNow()).resolves.toEqual([fourth?.id]);
      });
    });

    rateContract(() => rig, functions);
    strictContract(() => rig, functions);
    limitedDrainContract(() => rig, functions);
    fullLimitContract(() => rig, functions);
    unfiledContract(() => rig, functions);
    limitNumbersContract(functions);
    sharedLimitContract(() => rig, functions);
  });
}
