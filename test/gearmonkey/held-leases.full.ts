import { describe, expect, it } from '@jest/globals';
import type { RedisSource } from '../../lib/gearmonkey/redis-source.js';
import type { Claim } from '../../lib/job/job-source.js';
import { SlotTable } from '../../lib/worker/function-slots.js';
import { success } from '../contract/claiming.js';
import { gate } from '../support/gate.js';
import { runWorker } from '../support/run-worker.js';
import { eventually, until } from '../support/until.js';
import { Program, stopProgramsAfterEach } from '../support/worker-process.js';
import type { WorkerProgramOptions } from './worker-program.js';
import { onThisMachine } from '../support/machine.js';
import { useGearMonkey } from './use-gearmonkey.js';
import { inFullTier } from '../support/tier.js';

/** Of those that end. */
const LEASE_MS = 400;
/** How many short jobs a process has run that claims others ahead of its slot. */
const SHORT = 200;
/** How many jobs a process has claimed together. */
const CLAIMED = 3;
/** The lease of held jobs: a busy machine may delay their renewal for a second. */
const HELD_MS = 2000;
/** The lease of a job whose process is blocked: the keeper's thread needs a processor within it. */
const BLOCKED_MS = 2 * HELD_MS;
/** A worker that has just connected recovers no leases: after an outage most holders still want theirs. */
/** What recovery may take beyond the lease: an idle worker looks once a second. */
const SLACK_MS = 2000;
const rig = useGearMonkey();

stopProgramsAfterEach();

const source = (keeper = true, lease = LEASE_MS) => rig.source({ lease }, { keeper });
const program = (fn: string, options: Partial<WorkerProgramOptions> = {}) =>
  Program.start('test/gearmonkey/worker-program.ts', { url: rig.url, fn, lease: LEASE_MS, ...options });

/** A worker beside the others that would take whatever it could get. */
async function bystander(fn: string, output = 'of another') {
  const ran: { id: string; attempts: number; stalls: number; at: number }[] = [];
  const handle = (
    _: unknown,
    { id, attempts, claim: { stalls } }: { id: string; attempts: number; claim: Claim },
  ) => {
    ran.push({ id, attempts, stalls, at: performance.now() });
    return output;
  };
  await runWorker(source(), fn, handle);
  return ran;
}

async function leasesOf(fn: string): Promise<string[]> {
  return rig.redis.zrange(`lease:${fn}`, '0', '-1');
}

/** Until all leases have been renewed for longer than they are. */
async function longerThanALease(fn: string, lease = HELD_MS): Promise<void> {
  const firstEnd = async () => Number((await rig.redis.zrange(`lease:${fn}`, '0', '0', 'WITHSCORES'))[1]);
  const begun = await firstEnd();
  await eventually(async () => expect(await firstEnd()).toBeGreaterThan(begun + 1.5 * lease), {
    timeout: 40_000,
  });
}

describe('A process that blocks its event loop', () => {
  inFullTier(() => {
    it('keeps its job for many leases', async () => {
      const fn = rig.fn();
      const lease = BLOCKED_MS;
      const blocking = await program(fn, { lease });
      const job = await rig.client.run(fn, { block: 3 * lease });
      await blocking.says('start');
      const ran = await bystander(fn);
      await expect(job.result({ timeout: 3 * lease + 20_000 })).resolves.toBe('of the program');
      expect(ran).toEqual([]);
      await expect(job.get()).resolves.toMatchObject({ attempts: 1 });
      expect(blocking.all('logged')).toEqual([]);
    });
  });

  it('gives back the jobs that it has claimed behind it, which counts as no stall', async () => {
    const fn = rig.fn();
    const blocking = await program(fn, { lease: HELD_MS });
    const short = await rig.client.runMany(fn, Array<object>(SHORT).fill({}));
    await Promise.all(short.map((job) => job.result({ timeout: '20s' })));
    const [, ...behind] = await rig.client.runMany(fn, [
      { block: 4 * HELD_MS },
      ...Array<object>(CLAIMED).fill({}),
    ]);
    await until(() => blocking.all('start').length > SHORT);
    expect(await leasesOf(fn)).toHaveLength(1 + CLAIMED);
    const ran = await bystander(fn);
    const outputs = await Promise.all(behind.map((job) => job.result({ timeout: '20s' })));
    expect(new Set(outputs)).toEqual(new Set(['of another']));
    expect(ran).toMatchObject(behind.map(() => ({ attempts: 1, stalls: 0 })));
    expect(blocking.all('end')).toHaveLength(SHORT);
  });

  it('begins none that it is sent meanwhile and whose leases end before it reads of them', async () => {
    const [fn, other] = [rig.fn(), rig.fn()];
    const blocking = await program(fn, { lease: HELD_MS, other });
    await rig.client.run(other, { block: 4 * HELD_MS });
    await blocking.says('start');
    const sent = await rig.client.run(fn, {});
    await until(async () => (await leasesOf(fn)).length === 1);
    const ran = await bystander(fn);
    await expect(sent.result({ timeout: '20s' })).resolves.toBe('of another');
    await blocking.says('end');
    const last = await rig.client.run(other, {});
    await last.result({ timeout: '20s' });
    await until(() => blocking.all('end').length === 2);
    expect(ran).toMatchObject([{ id: sent.id, attempts: 2, stalls: 1 }]);
    expect(blocking.all('start')).toHaveLength(2);
  });

  it('loses its job after the timeout of the job, and its result is refused', async () => {
    const fn = rig.fn();
    const blocking = await program(fn);
    const job = await rig.client.run(fn, { block: 9 * LEASE_MS }, { jobTimeout: LEASE_MS });
    await blocking.says('start');
    const ran = await bystander(fn);
    await expect(job.result({ timeout: '20s' })).resolves.toBe('of another');
    expect(ran).toMatchObject([{ id: job.id, attempts: 2, stalls: 1 }]);
    expect(blocking.all('end')).toEqual([]);
    await blocking.says('end');
    await until(() => blocking.all('logged').some(({ message }) => /refused|went/.test(String(message))));
    await expect(job.result()).resolves.toBe('of another');
  });
});

describe('A process that is stopped for longer than its lease', () => {
  it('begins none of the jobs that it had claimed before, while it ran another', async () => {
    const fn = rig.fn();
    const jobs = await rig.client.runMany(
      fn,
      Array.from({ length: CLAIMED }, () => ({ block: LEASE_MS })),
    );
    const stopped = await program(fn, { concurrency: CLAIMED, lease: HELD_MS });
    await stopped.says('start');
    stopped.signal('SIGSTOP');
    const ran = await bystander(fn);
    await eventually(() => expect(ran).toHaveLength(CLAIMED), { timeout: 40_000 });
    stopped.signal('SIGCONT');
    const last = await rig.client.run(fn, {});
    await Promise.all([...jobs, last].map((job) => job.result({ timeout: '20s' })));
    await until(() => stopped.all('end').length > 0);
    // It would have begun the others in the same tick.
    expect(stopped.all('start').filter(({ id }) => id !== last.id)).toHaveLength(1);
  });
});

inFullTier(() => {
  describe('A process that is stopped for longer than its lease', () => {
    it('aborts the signal of a job that went to another worker, logs it, and its result is refused', async () => {
      const fn = rig.fn();
      const stopped = await program(fn);
      const job = await rig.client.run(fn, { hold: true });
      await stopped.says('start');
      stopped.signal('SIGSTOP');
      await bystander(fn);
      await expect(job.result({ timeout: '20s' })).resolves.toBe('of another');
      stopped.signal('SIGCONT');
      await expect(stopped.says('aborted')).resolves.toMatchObject({ id: job.id, code: 'LEASE_LOST' });
      await expect(stopped.says('logged')).resolves.toMatchObject({
        message: expect.stringContaining(`${fn} ${job.id} went to another worker`),
      });
      stopped.tell('go on');
      await stopped.says('end');
      await expect(job.get()).resolves.toMatchObject({
        state: 'succeeded',
        output: 'of another',
        attempts: 2,
      });
    });

    it('is refused if it settles at once', async () => {
      const fn = rig.fn();
      const stopped = await program(fn);
      const job = await rig.client.run(fn, { hold: true });
      await stopped.says('start');
      stopped.signal('SIGSTOP');
      await bystander(fn);
      await job.result({ timeout: '20s' });
      stopped.tell('go on');
      stopped.signal('SIGCONT');
      await stopped.says('end');
      await expect(stopped.says('logged')).resolves.toMatchObject({
        message: expect.stringMatching(/refused|went to another worker/),
      });
      await expect(job.get()).resolves.toMatchObject({ output: 'of another', attempts: 2 });
    });
  });
});

describe('A process that is killed', () => {
  it('loses its jobs to others, at the front and in order', async () => {
    const fn = rig.fn();
    const killed = await program(fn, { concurrency: 3 });
    await rig.client.runMany(fn, [{ hold: true }, { hold: true }, { hold: true }, {}, {}]);
    await eventually(() => expect(killed.all('start')).toHaveLength(3));
    const ran: { id: string; stalls: number }[] = [];
    // It is full until the leases of the dead process are over: what waits stays behind them.
    const recovered = gate();
    const other = source(true, HELD_MS);
    await runWorker(other, fn, async (_, { id, claim }) => {
      ran.push({ id, stalls: claim.stalls });
      if (id === '4') await recovered.passed;
    });
    await until(() => ran.some(({ id }) => id === '4'));
    await killed.kill();
    const members = (await leasesOf(fn)).filter((member) => !member.startsWith('4:'));
    const ends = await Promise.all(members.map((member) => rig.redis.zscore(`lease:${fn}`, member)));
    await until(() => Date.now() > Math.max(...ends.map(Number)));
    recovered.open();
    await rig.client.result(fn, 5, { timeout: '20s' });
    expect(ran.map(({ id }) => id)).toEqual(['4', '1', '2', '3', '5']);
    expect(ran.map(({ stalls }) => stalls)).toEqual([0, 1, 1, 1, 0]);
  });

  inFullTier(() => {
    it('is noticed by idle workers within the lease plus two seconds', async () => {
      const fn = rig.fn();
      const killed = await program(fn);
      const job = await rig.client.run(fn, { hold: true });
      await killed.says('start');
      const ran = await bystander(fn);
      const at = performance.now();
      await killed.kill();
      await job.result({ timeout: '20s' });
      expect((ran[0]?.at ?? Infinity) - at).toBeLessThan(onThisMachine(LEASE_MS + SLACK_MS));
    });
  });
});

describe.each([
  ['kept by the thread', true],
  ['renewed by the main thread', false],
])('Leases %s', (_, keeper) => {
  it('last while the handler runs', async () => {
    const fn = rig.fn();
    const end = gate();
    await runWorker(source(keeper, HELD_MS), fn, () => end.passed);
    const job = await rig.client.run(fn, 'x');
    await eventually(async () => expect(await leasesOf(fn)).toHaveLength(1));
    const ran = await bystander(fn);
    await longerThanALease(fn);
    end.open();
    await job.result({ timeout: '10s' });
    expect(ran).toEqual([]);
    await expect(leasesOf(fn)).resolves.toEqual([]);
  });

  inFullTier(() => {
    it('also last for ids that are no numbers', async () => {
      const fn = rig.fn();
      const ids = ['a', '007', '1e3', 'a:1', '-1', '0.5', '99999999999999999999'];
      const end = gate();
      const begun: string[] = [];
      const handle = (_input: unknown, { id }: { id: string }) => {
        begun.push(id);
        return end.passed;
      };
      await runWorker(source(keeper, HELD_MS), fn, handle, { concurrency: ids.length });
      for (const id of ids) {
        await rig.redis.hset(`job:${fn}:${id}`, 'status', 'idle', 'input', '1');
        await rig.redis.lpush(`queue:${fn}:normal`, id);
      }
      await eventually(() => expect(begun).toHaveLength(ids.length));
      expect(begun).toEqual(ids);
      const ran = await bystander(fn);
      await longerThanALease(fn);
      end.open();
      for (const id of ids)
        await eventually(async () =>
          expect(await rig.redis.hget(`job:${fn}:${id}`, 'status')).toBe('success'),
        );
      expect(ran).toEqual([]);
      await expect(leasesOf(fn)).resolves.toEqual([]);
    });
  });

  inFullTier(() => {
    it('last for 2500 jobs at once', async () => {
      const fn = rig.fn();
      // So many are a while on their way on a busy machine.
      const lease = 4 * HELD_MS;
      const end = gate();
      const jobs = await rig.client.runMany(
        fn,
        Array.from({ length: 2500 }, (__, i) => i),
      );
      await runWorker(source(keeper, lease), fn, () => end.passed, { concurrency: 2500 });
      await eventually(async () => expect(await leasesOf(fn)).toHaveLength(2500));
      const ran = await bystander(fn);
      await longerThanALease(fn, lease);
      end.open();
      await Promise.all(jobs.map((job) => job.result({ timeout: '40s' })));
      expect(ran).toEqual([]);
      await expect(leasesOf(fn)).resolves.toEqual([]);
    });
  });

  inFullTier(() => {
    it('last for all functions although the count of one has a wrong type', async () => {
      const [fn, other] = [rig.fn(), rig.fn()];
      const end = gate();
      const shared = source(keeper, HELD_MS);
      await shared.open([other]);
      await runWorker(shared, fn, () => end.passed);
      const job = await rig.client.run(fn, 'x');
      await eventually(async () => expect(await leasesOf(fn)).toHaveLength(1));
      await rig.redis.set(`count:${fn}`, 'text');
      await longerThanALease(fn);
      end.open();
      await job.result({ timeout: '10s' });
      await expect(job.get()).resolves.toMatchObject({ attempts: 1 });
      await expect(rig.redis.get(`count:${other}`)).resolves.toBe('1');
    });
  });

  it('that are lost are reported', async () => {
    const fn = rig.fn();
    const reason = gate<unknown>();
    await runWorker(source(keeper), fn, async (_input, { signal }) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      reason.open(signal.reason);
    });
    const job = await rig.client.run(fn, 'x');
    await eventually(async () => expect(await leasesOf(fn)).toHaveLength(1));
    await rig.redis.del(`lease:${fn}`);
    await expect(reason.passed).resolves.toMatchObject({ code: 'LEASE_LOST', id: job.id });
  });
});

describe('The keeper', () => {
  const keepers = async () =>
    String(await rig.redis.client('LIST')).match(/ name=nestjs-gearmonkey:keeper /g)?.length ?? 0;
  const threadOf = (of: RedisSource) => of['held']['keeper']?.['thread']?.['thread'];

  it('opens no thread and no connection before a worker starts', async () => {
    const idle = source();
    expect(threadOf(idle)).toBeUndefined();
    await expect(keepers()).resolves.toBe(0);
    await idle.close();
  });

  it('leaves no thread and no connection behind', async () => {
    const fn = rig.fn();
    const opened = source();
    await opened.open([fn]);
    await rig.client.run(fn, 'x');
    const [claim] = await opened.claim(new SlotTable([[fn, 1]]), AbortSignal.timeout(5000));
    await eventually(async () => expect(await keepers()).toBe(1));
    const thread = threadOf(opened);
    expect(thread?.threadId).toBeGreaterThan(0);
    await opened.settle([success(claim as Claim)]);
    await opened.close();
    expect(thread?.threadId).toBe(-1);
    await eventually(async () => expect(await keepers()).toBe(0));
  });

  it('reconnects after its connection was killed', async () => {
    const fn = rig.fn();
    const end = gate();
    await runWorker(source(true, HELD_MS), fn, () => end.passed);
    const job = await rig.client.run(fn, 'x');
    await eventually(async () => expect(await keepers()).toBe(1));
    const list = String(await rig.redis.client('LIST')).split('\n');
    const id = /id=(\d+) /.exec(list.find((line) => line.includes(':keeper ')) ?? '')?.[1] ?? '';
    await rig.redis.call('CLIENT', 'KILL', 'ID', id);
    const ran = await bystander(fn);
    await longerThanALease(fn);
    end.open();
    await job.result({ timeout: '10s' });
    expect(ran).toEqual([]);
  });

  inFullTier(() => {
    it('sends its scripts again after SCRIPT FLUSH', async () => {
      const fn = rig.fn();
      const end = gate();
      await runWorker(source(true, HELD_MS), fn, () => end.passed);
      const job = await rig.client.run(fn, 'x');
      await eventually(async () => expect(await leasesOf(fn)).toHaveLength(1));
      await rig.redis.script('FLUSH');
      const ran = await bystander(fn);
      await longerThanALease(fn);
      end.open();
      await job.result({ timeout: '10s' });
      expect(ran).toEqual([]);
    });
  });
});
