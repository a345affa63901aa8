import { describe, expect, it, jest } from '@jest/globals';
import { realNow } from '../../../lib/job/real-time.js';
import type { LeaseKeeper } from '../../../lib/redis/lease-keeper.js';
import { defineJob } from '../../../lib/job/job-definition.js';
import type { RunningJob } from '../../../lib/worker/running-job.js';
import { SlotTable } from '../../../lib/worker/function-slots.js';
import { claimOne } from '../../contract/claiming.js';
import { gate } from '../../support/gate.js';
import { onThisMachine } from '../../support/machine.js';
import { runWorker } from '../../support/run-worker.js';
import { eventually } from '../../support/until.js';
import { useSource } from './use-source.js';
import { inFullTier } from '../../support/tier.js';

const HEARTBEAT_MS = 2000;
/** In seconds, on a busy machine. */
const LONGEST_HEARTBEAT = 15;
const used = useSource();

describe('a running handler', () => {
  async function running(jid: string) {
    const [started, aborted] = [gate<RunningJob>(), gate<unknown>()];
    const { said } = await runWorker(await used.open({ keeper: true }), 'K', (_, job) => {
      job.signal.addEventListener('abort', () => aborted.open(job.signal.reason));
      started.open(job);
      return aborted.passed;
    });
    await used.client.queue('q').put('K', {}, { jid });
    return { job: await started.passed, aborted: aborted.passed, said };
  }

  it('is aborted when its lock is taken away', async () => {
    const { aborted, job } = await running('a');
    await used.client.jobs.timeout('a');
    await expect(aborted).resolves.toMatchObject({ code: 'LEASE_LOST' });
    await expect(job.update(1, 2)).rejects.toThrow('given to another worker');
  });

  it('is aborted when its job is put elsewhere', async () => {
    const { aborted } = await running('a');
    await (await used.client.jobs.get('a'))?.move('other');
    await expect(aborted).resolves.toMatchObject({ code: 'LEASE_LOST' });
    await expect(used.client.jobs.get('a')).resolves.toMatchObject({ state: 'waiting', queue: 'other' });
  });

  it('is aborted when its job is cancelled', async () => {
    const { aborted } = await running('a');
    await used.client.jobs.cancel('a');
    await expect(aborted).resolves.toMatchObject({ code: 'JOB_CANCELLED' });
  });

  it('keeps its lock beyond its length, also after a warning of its expiry', async () => {
    await used.client.config.set('heartbeat', 0.6);
    const { said } = await running('a');
    const first = (await used.client.jobs.get('a'))?.record.expires ?? 0;
    await eventually(async () =>
      expect((await used.client.jobs.get('a'))?.record.expires ?? 0).toBeGreaterThan(first + 1.5),
    );
    await used.redis.publish('ql:w:anybody', 'no JSON');
    await expect(used.client.queue('q').pop()).resolves.toEqual([]);
    await expect(used.historyOf('a')).resolves.toEqual(['put', 'popped']);
    expect(said).toEqual([]);
  });

  it('does not begin if its claim was read late and another worker has the job, or may have it', async () => {
    const source = await used.open({ keeper: true, lock: 2 });
    await used.client.queue('q').put('K', {}, { jid: 'a' });
    const claim = await claimOne(source, 'K');
    const locks = source['locks'];
    expect(source.leases.mayBeLost?.(claim)).toBe(false);
    locks.drop(claim);
    // The thread renews all that it knows just now, and does not know this one.
    await eventually(() => expect(locks['keeper']?.renewedAt ?? 0).toBeGreaterThan(realNow() - 500));
    locks.add([claim], realNow() - 2000);
    expect(source.leases.mayBeLost?.(claim)).toBe(true);
    await expect(source.renew([claim])).resolves.toEqual([]);
    expect(source.leases.mayBeLost?.(claim)).toBe(false);
    expect(locks['late'].size).toBe(0);
    await used.client.jobs.timeout('a');
    await expect(source.renew([claim])).resolves.toEqual([claim]);
  });

  it('is asked for anew if its process was stopped: nothing has renewed its lock meanwhile', async () => {
    const source = await used.open({ keeper: true, lock: 2 });
    await used.client.queue('q').put('K', {}, { jid: 'a' });
    const claim = await claimOne(source, 'K');
    const locks = source['locks'];
    locks.add([claim], realNow() - 2000);
    locks['late'].clear();
    jest.spyOn(locks['keeper'] as LeaseKeeper, 'renewedAt', 'get').mockReturnValue(realNow() - 1000);
    expect(source.leases.mayBeLost?.(claim)).toBe(true);
    jest.spyOn(locks['keeper'] as LeaseKeeper, 'renewedAt', 'get').mockReturnValue(realNow());
    expect(source.leases.mayBeLost?.(claim)).toBe(false);
  });

  it('has its job given back at the front when the worker stops, without spending a retry', async () => {
    const queue = used.client.queue('q');
    const started = gate();
    const { worker } = await runWorker(await used.open(), defineJob('K'), () => {
      started.open();
      return new Promise(() => undefined);
    });
    await queue.put('K', {}, { jid: 'first' });
    await started.passed;
    await queue.put('K', {}, { jid: 'second' });
    await worker.stop(0);
    await expect(queue.jids('waiting')).resolves.toEqual(['first', 'second']);
    await expect(used.client.jobs.get('first')).resolves.toMatchObject({
      record: { remaining: 5, retries: 5 },
    });
  });
});

inFullTier(() => {
  describe('a worker process', () => {
    it('that blocks its event loop for several heartbeats keeps its job', async () => {
      // The keeper's thread needs a processor within it.
      const heartbeat = Math.min(Math.ceil(onThisMachine(HEARTBEAT_MS) / 1000), LONGEST_HEARTBEAT);
      await used.client.config.set('heartbeat', heartbeat);
      await used.client.config.set('grace-period', 0);
      const worker = await used.program();
      await used.client.queue('q').put('Held', { block: 3000 * heartbeat }, { jid: 'a' });
      await worker.says('start');
      const abort = new AbortController();
      const source = await used.open({}, ['Held']);
      const stolen = source.claim(new SlotTable([['Held', 1]]), abort.signal);
      await eventually(async () => expect((await used.client.jobs.get('a'))?.state).toBe('complete'), {
        timeout: 3000 * heartbeat + 20_000,
      });
      abort.abort();
      await expect(stolen).resolves.toEqual([]);
      await expect(used.historyOf('a')).resolves.toEqual(['put', 'popped', 'returned', 'done']);
    });

    it('that is killed loses its job to another when the lock is over', async () => {
      await used.client.config.set('heartbeat', 1);
      await used.client.config.set('grace-period', 0);
      const worker = await used.program();
      await used.client.queue('q').put('Held', {}, { jid: 'a' });
      await worker.says('start');
      await worker.kill();
      const claim = await claimOne(await used.open({}, ['Held']), 'Held');
      expect(claim).toMatchObject({ id: 'a', attempts: 2, stalls: 1 });
    });
  });
});
