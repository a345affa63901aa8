import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Claim, FreeSlots, JobSource } from '../../lib/job/job-source.js';
import type { SourceCapabilities } from '../../lib/job/source-capabilities.js';
import { SlotTable } from '../../lib/worker/function-slots.js';
import { eventually } from '../support/until.js';
import { claimInOrder, claimOne, claimUpTo, inputOf, PATIENCE_MS, success } from './claiming.js';
import { hostileContract } from './hostile-contract.js';
import { instrumentationContract } from './instrumentation-contract.js';
import { leaseContract } from './lease-contract.js';
import { pass, spanOf, workersLook, type SourceRig } from './rig.js';
import { settleContract } from './settle-contract.js';

/** What `JobWorker` relies on, whatever the source. */
export function jobSourceContract(
  name: string,
  setup: () => Promise<SourceRig>,
  capabilities: SourceCapabilities,
): void {
  const when = (capability: keyof SourceCapabilities) => (capabilities[capability] ? it : it.skip);

  describe(`JobSource: ${name}`, () => {
    let rig: SourceRig;
    let opened: JobSource[] = [];

    beforeAll(async () => {
      rig = await setup();
    });
    afterEach(async () => {
      await Promise.all(opened.map((source) => source.close()));
      opened = [];
    });
    afterEach(() => rig.endTest?.());
    afterAll(() => rig.close());

    async function open(fn: string | string[], lease?: number): Promise<JobSource> {
      const source = rig.source(lease === undefined ? {} : { lease });
      opened.push(source);
      await source.open([fn].flat());
      return source;
    }

    it('has the declared capabilities', () => {
      const source = rig.source();
      opened.push(source);
      expect(source.capabilities).toEqual(capabilities);
    });

    describe('open', () => {
      when('count')('counts a worker once, however often it is called, until close', async () => {
        const fn = rig.fn();
        const source = await open(fn);
        await source.open([fn]);
        await expect(rig.workers(fn)).resolves.toBe(1);
        await open(fn);
        await expect(rig.workers(fn)).resolves.toBe(2);
        await source.close();
        await expect(rig.workers(fn)).resolves.toBe(1);
      });

      when('count')('takes further functions later', async () => {
        const [first, second] = [rig.fn(), rig.fn()];
        const source = await open(first);
        await source.open([first, second]);
        await expect(Promise.all([rig.workers(first), rig.workers(second)])).resolves.toEqual([1, 1]);
      });
    });

    describe('claim', () => {
      it('returns nothing if its signal had aborted before', async () => {
        const fn = rig.fn();
        const source = await open(fn);
        await rig.submit(fn, 'a');
        await expect(source.claim(new SlotTable([[fn, 1]]), AbortSignal.abort())).resolves.toEqual([]);
        await expect(claimOne(source, fn).then(inputOf)).resolves.toBe('a');
      });

      it('returns inputs unchanged, including bytes', async () => {
        const fn = rig.fn();
        const source = await open(fn);
        const input = Buffer.from([0, 255, 10, 13, 34, 195, 40]);
        const id = await rig.submit(fn, input);
        const claim = await claimOne(source, fn);
        expect(claim).toMatchObject({ fn, id, attempts: 1, stalls: 0, options: {} });
        expect(Buffer.from(claim.input)).toEqual(input);
      });

      when('options')("carries what the job's sender said about running it", async () => {
        const fn = rig.fn();
        const source = await open(fn);
        const options = { retry: { attempts: 3, backoff: 'fixed' as const, delay: '1s' }, timeout: 5000 };
        await rig.submit(fn, 'a', { queue: 'normal', options: JSON.stringify(options) });
        await expect(claimOne(source, fn)).resolves.toMatchObject({ options });
      });

      when('options')('takes options that no client of ours would write for none', async () => {
        const fn = rig.fn();
        const source = await open(fn);
        const foreign = ['', '{', '7', 'null', '"retry"', '{"retry":null}', '{"retry":{"attempts":0}}'];
        foreign.push('{"timeout":"never"}', '{"timeout":1e300}', '{"timeout":null}');
        for (const options of foreign) await rig.submit(fn, options, { queue: 'normal', options });
        for (const options of foreign) {
          const claim = await claimOne(source, fn);
          expect([inputOf(claim), claim.options]).toEqual([options, {}]);
        }
      });

      it('claims no more jobs than there are slots', async () => {
        const fn = rig.fn();
        const source = await open(fn);
        const ids = await Promise.all(['a', 'b', 'c', 'd', 'e'].map((input) => rig.submit(fn, input)));
        const claims = await claimUpTo(source, fn, 3);
        expect(claims.length).toBeGreaterThan(0);
        expect(claims.length).toBeLessThanOrEqual(3);
        const states = await Promise.all(ids.map((id) => rig.stored(fn, id)));
        expect(states.filter(({ status }) => status === 'busy')).toHaveLength(claims.length);
      });

      it('is first in, first out', async () => {
        const fn = rig.fn();
        const source = await open(fn);
        for (const input of ['a', 'b', 'c']) await rig.submit(fn, input);
        await expect(claimInOrder(source, fn, 3)).resolves.toEqual(['a', 'b', 'c']);
      });

      when('priorities')('goes by priority: scheduled and due, high, normal, low', async () => {
        const fn = rig.fn();
        const source = await open(fn);
        await rig.submit(fn, 'low', { queue: 'low' });
        await rig.submit(fn, 'normal', { queue: 'normal' });
        await rig.submit(fn, 'high', { queue: 'high' });
        await rig.submit(fn, 'high 2', { queue: 'high' });
        if (capabilities.scheduled) await rig.submit(fn, 'due', { queue: 'scheduled', score: 2 });
        if (capabilities.scheduled) await rig.submit(fn, 'due before', { queue: 'scheduled', score: 1 });
        const due = capabilities.scheduled ? ['due before', 'due'] : [];
        const all = [...due, 'high', 'high 2', 'normal', 'low'];
        await expect(claimInOrder(source, fn, all.length)).resolves.toEqual(all);
      });

      when('scheduled')('takes a scheduled job when it is due, and not before', async () => {
        const fn = rig.fn();
        const source = await open(fn);
        const due = Date.now() + spanOf(rig);
        await rig.submit(fn, 'later', { queue: 'scheduled', score: due / 1000 });
        await rig.submit(fn, 'now');
        const claimed = new Map<string, number>();
        const claim = async () => {
          const one = await claimOne(source, fn);
          claimed.set(inputOf(one), Date.now());
          await source.settle([success(one)]);
        };
        await claim();
        // If its time passes for real, a busy machine may take so long that both are due.
        if (rig.pass) expect([...claimed.keys()]).toEqual(['now']);
        await pass(rig, spanOf(rig));
        await claim();
        expect([...claimed.keys()].toSorted()).toEqual(['later', 'now']);
        expect(claimed.get('later')).toBeGreaterThanOrEqual(due);
      });

      it('waits for a job', async () => {
        const fn = rig.fn();
        const source = await open(fn);
        const claim = claimOne(source, fn);
        const id = await rig.submit(fn, 'late');
        await workersLook(rig);
        await expect(claim).resolves.toMatchObject({ id });
      });

      it('loses no job when it is aborted at any moment', async () => {
        const fn = rig.fn();
        const source = await open(fn);
        const seen = new Set<string>();
        const keep = async (claims: readonly Claim[]) => {
          for (const { id } of claims) seen.add(id);
          await source.settle(claims.map((claim) => success(claim)));
        };
        for (let round = 0; round < 20; round++) {
          const abort = new AbortController();
          const claiming = source.claim(new SlotTable([[fn, 2]]), abort.signal);
          const submitted = rig.submit(fn, 'x');
          if (round % 2 === 0) await submitted;
          abort.abort();
          await submitted;
          await keep(await claiming);
        }
        // Both slots of the last round may have been filled: what comes may be two.
        for (let patience = 0; seen.size < 20 && patience < 20; patience++)
          await keep(await claimUpTo(source, fn, 2));
        expect(seen.size).toBe(20);
      });

      it('never gives a job to two sources', async () => {
        const fn = rig.fn();
        const sources = await Promise.all([open(fn), open(fn)]);
        const ids = await Promise.all(Array.from({ length: 40 }, (_, i) => rig.submit(fn, `${i}`)));
        const seen: string[] = [];
        const abort = new AbortController();
        const work = async (source: JobSource) => {
          while (seen.length < ids.length) {
            const claims = await source.claim(new SlotTable([[fn, 7]]), abort.signal);
            seen.push(...claims.map(({ id }) => id));
            await source.settle(claims.map((claim) => success(claim)));
            if (seen.length >= ids.length) abort.abort();
          }
        };
        await Promise.all(sources.map(work));
        expect(seen.sort()).toEqual(ids.sort());
      });

      it('claims no jobs of a function without free slots', async () => {
        const [full, free] = [rig.fn(), rig.fn()];
        const source = await open([full, free]);
        const waiting = await rig.submit(full, 'a');
        const id = await rig.submit(free, 'b');
        await expect(claimOne(source, free)).resolves.toMatchObject({ id, fn: free });
        await expect(rig.stored(full, waiting)).resolves.toMatchObject({ status: 'idle' });
      });

      it('claims jobs of several functions', async () => {
        const [one, two] = [rig.fn(), rig.fn()];
        const source = await open([one, two]);
        await rig.submit(one, 'a');
        await rig.submit(two, 'b');
        const seen: string[] = [];
        while (seen.length < 2) {
          const slots = new SlotTable([one, two].filter((fn) => !seen.includes(fn)).map((fn) => [fn, 1]));
          seen.push(...(await source.claim(slots, AbortSignal.timeout(5000))).map(({ fn }) => fn));
        }
        expect(seen.sort()).toEqual([one, two].sort());
      });
    });

    describe('slots', () => {
      it('that become free while a claim waits are filled by it', async () => {
        const [one, two] = [rig.fn(), rig.fn()];
        const source = await open([one, two]);
        const slots = new SlotTable([[one, 1]]);
        const id = await rig.submit(two, 'b');
        const claiming = source.claim(slots, AbortSignal.timeout(PATIENCE_MS));
        await expect(rig.stored(two, id)).resolves.toMatchObject({ status: 'idle' });
        slots.set(two, 1);
        await expect(claiming).resolves.toMatchObject([{ fn: two, id }]);
      });

      it('are subscribed to only while a claim waits', async () => {
        const fn = rig.fn();
        const source = await open(fn);
        const slots = new SlotTable([[fn, 1]]);
        let listeners = 0;
        const counted: FreeSlots = {
          of: (name) => slots.of(name),
          functions: () => slots.functions(),
          onFree: (listener) => {
            const ignore = slots.onFree(listener);
            listeners += 1;
            return () => {
              ignore();
              listeners -= 1;
            };
          },
        };
        const abort = new AbortController();
        const claiming = source.claim(counted, abort.signal);
        await eventually(() => expect(listeners).toBeGreaterThan(0));
        abort.abort();
        await expect(claiming).resolves.toEqual([]);
        expect(listeners).toBe(0);
      });
    });

    settleContract(() => rig, open, capabilities);
    hostileContract(() => rig);
    instrumentationContract(() => rig);
    if (capabilities.leases) leaseContract(() => rig, open, capabilities);
  });
}
