import { describe, expect, it } from '@jest/globals';
import { eventually } from '../support/until.js';
import { retry, success } from './claiming.js';
import { held, HOUR_MS, idsOf, type Limited, type LimitedFunctions } from './limited.js';
import type { ClientRig } from './rig.js';

const REFUSE = { onFull: 'refuse' as const };
const REPLACE = { onFull: 'replace' as const };

/** The part of the limits' contract that is about `onFull`. */
export function fullLimitContract(rigOf: () => ClientRig, functions: LimitedFunctions): void {
  const refused = (limited: Limited, key: string) => ({ code: 'LIMIT_FULL', fn: limited.fn, key });
  const codes = async (limited: Limited, ids: readonly string[]) =>
    Promise.all(ids.map(async (id) => (await rigOf().stored(limited.fn, id)).code));

  describe("onFull: 'refuse'", () => {
    const add = (limited: Limited, ...keys: string[]) => limited.addAll(keys, {}, REFUSE);

    it('refuses what could not start at once, counting jobs that run and wait', async () => {
      const limited = await functions.open({ concurrency: 2 });
      await add(limited, 'a');
      const claim = await limited.claimOne();
      await add(limited, 'a');
      await expect(add(limited, 'a')).rejects.toMatchObject(refused(limited, 'a'));
      await expect(add(limited, 'b')).resolves.toHaveLength(1);
      await limited.settle(success(claim));
      await expect(add(limited, 'a')).resolves.toHaveLength(1);
    });

    it('creates nothing of a call when one of its jobs is refused', async () => {
      const limited = await functions.open({ concurrency: 2 });
      const first = await limited.addOne('a');
      await expect(add(limited, 'b', 'a', 'c', 'a')).rejects.toMatchObject(refused(limited, 'a'));
      const next = await limited.addOne('d');
      expect(Number(next.id)).toBe(Number(first.id) + 1);
      await expect(limited.idsNow()).resolves.toEqual([first.id, next.id]);
    });

    it('counts the jobs of a call one after the other', async () => {
      const limited = await functions.open({ concurrency: 2 });
      await expect(add(limited, 'a', 'a', 'a')).rejects.toMatchObject(refused(limited, 'a'));
      await expect(add(limited, 'a', 'b', 'a', 'b')).resolves.toHaveLength(4);
    });

    it('counts starts of a rate, and says when there is room', async () => {
      const limited = await functions.open({ rate: { max: 2, per: HOUR_MS } });
      await limited.add('a', 2);
      await expect(add(limited, 'a')).rejects.toMatchObject(refused(limited, 'a'));
      await limited.run(2);
      const error = (await add(limited, 'a').catch((failure: unknown) => failure)) as { until?: Date };
      expect(error).toMatchObject(refused(limited, 'a'));
      expect(error.until).toEqual((await limited.state('a'))?.fullUntil);
      expect(error.until).toBeInstanceOf(Date);
    });

    it('refuses jobs of a key that is held', async () => {
      const limited = await functions.open({ concurrency: 5 });
      await limited.addOne('a');
      await limited.settle(held(await limited.claimOne(), HOUR_MS));
      await expect(add(limited, 'a')).rejects.toMatchObject({
        ...refused(limited, 'a'),
        until: expect.any(Date),
      });
    });

    it.each([
      ['waits', async () => undefined],
      ['runs', async (limited: Limited) => void (await limited.claimOne())],
      [
        'waits for its retry',
        async (limited: Limited) => void (await limited.settle(retry(await limited.claimOne(), HOUR_MS))),
      ],
    ])('refuses a second job of a strict key while one %s', async (_, begin) => {
      const limited = await functions.open({ order: 'strict' });
      await add(limited, 'a');
      await begin(limited);
      await expect(add(limited, 'a')).rejects.toMatchObject(refused(limited, 'a'));
      await expect(add(limited, 'b')).resolves.toHaveLength(1);
    });

    it('counts for scheduled jobs when they are enqueued', async () => {
      const limited = await functions.open({ concurrency: 1 });
      await limited.addOne('a');
      const later = { queue: 'scheduled', delay: HOUR_MS } as const;
      await expect(limited.addOne('a', later, REFUSE)).rejects.toMatchObject(refused(limited, 'a'));
      await expect(limited.addOne('b', later, REFUSE)).resolves.toBeDefined();
    });
  });

  describe("onFull: 'replace'", () => {
    it('cancels those of the key that wait, in place of which the new one waits', async () => {
      const limited = await functions.open({ concurrency: 1 });
      const [running, waiting, other] = idsOf(await limited.addAll(['a', 'a', 'b']));
      const claim = await limited.claimOne();
      const scheduled = await limited.addOne('a', { queue: 'scheduled', delay: HOUR_MS });
      const last = await limited.addOne('a', {}, REPLACE);
      const ids = [waiting ?? '', scheduled.id];
      await expect(codes(limited, ids)).resolves.toEqual(['JOB_CANCELLED', 'JOB_CANCELLED']);
      await expect(limited.field(waiting ?? '', 'error')).resolves.toContain(last.id);
      expect(claim.id).toBe(running);
      await expect(limited.settle(success(claim))).resolves.toEqual([]);
      await expect(limited.idsNow()).resolves.toEqual([other, last.id].sort(byNumber));
    });

    it('cancels one that waits for its retry', async () => {
      const limited = await functions.open({ order: 'strict' });
      const first = await limited.addOne('a');
      await limited.settle(retry(await limited.claimOne(), HOUR_MS));
      const second = await limited.addOne('a', {}, REPLACE);
      await expect(codes(limited, [first.id])).resolves.toEqual(['JOB_CANCELLED']);
      await expect(limited.idsNow()).resolves.toEqual([second.id]);
    });

    it('cancels nothing unless the key is full', async () => {
      const limited = await functions.open({ concurrency: 2 });
      const ids = [await limited.addOne('a', {}, REPLACE), await limited.addOne('a', {}, REPLACE)];
      await expect(limited.idsNow()).resolves.toEqual(idsOf(ids));
    });

    it('keeps the last job of a call', async () => {
      const limited = await functions.open({ concurrency: 1 });
      const ids = idsOf(await limited.add('a', 3, {}, REPLACE));
      await expect(limited.idsNow()).resolves.toEqual(ids.slice(2));
      await expect(codes(limited, ids.slice(0, 2))).resolves.toEqual(['JOB_CANCELLED', 'JOB_CANCELLED']);
    });

    it("cancels those that run, too, with replace: 'running'", async () => {
      const limited = await functions.open({ concurrency: 1 });
      const revoked: string[] = [];
      await limited.source.open([limited.fn], ({ id }, why) => revoked.push(`${id} ${why}`));
      const [running] = await limited.add('a', 2);
      const claim = await limited.claimOne();
      const last = await limited.addOne('a', {}, { ...REPLACE, replace: 'running' });
      await expect(codes(limited, [running?.id ?? ''])).resolves.toEqual(['JOB_CANCELLED']);
      await expect(limited.idsNow()).resolves.toEqual([last.id]);
      // Before it settles: a worker that has heard of the refusal needs no message.
      await eventually(() => expect(revoked).toEqual([`${running?.id} cancelled`]));
      await expect(limited.settle(success(claim))).resolves.toEqual([claim]);
      await expect(limited.state('a')).resolves.toMatchObject({ running: 1, waiting: 0 });
    });
  });
}

function byNumber(a = '', b = ''): number {
  return Number(a) - Number(b);
}
