import { beforeEach, describe, expect, it } from '@jest/globals';
import { encode } from '@msgpack/msgpack';
import type { Constraint } from '../../../lib/jq/constraints/constraint.js';
import { ConstraintStore } from '../../../lib/jq/engine/constraint-store.js';
import { Raw } from '../../../lib/jq/message-pack/raw.js';
import type { HandedJob } from '../../../lib/jq/engine/operations.js';
import * as operations from '../../../lib/jq/engine/operations.js';
import { useRedis } from '../../support/use-redis.js';
import { EngineRig } from './engine-rig.js';

const MAIL = { field: 'name', equal: 'mail' };

describe('constraints', () => {
  const used = useRedis();
  let rig: EngineRig;
  let store: ConstraintStore;
  beforeEach(async () => {
    rig = new EngineRig(used.redis, `{${used.fn('jq')}}:`);
    store = new ConstraintStore(rig);
    await store.load();
    await rig.worker({ maxJobs: 1000 });
  });

  const create = async (constraint: Constraint) => {
    const id = await store.create(constraint);
    await store.load();
    if (id === undefined) throw new Error('The constraint was refused.');
    return id;
  };

  const enqueue = (name: string, argument: object = {}, priority = 0) => {
    const job = { name, argument: new Raw(Buffer.from(encode(argument))), priority };
    return rig.enqueue(job, store.current.limitsOf(job));
  };

  const enqueueMany = async (count: number, name: string, argument: object = {}) => {
    for (let i = 0; i < count; i++) await enqueue(name, argument);
  };

  /** As a master does it: jobs whose limits are outdated are matched anew. */
  const handOut = async (): Promise<HandedJob[]> => {
    const handed: HandedJob[] = [];
    for (;;) {
      const reply = await rig.turn([], { pushes: 100, sweep: true });
      handed.push(...reply.handed);
      if (reply.stale.length > 0) await store.reassignLanes(reply.stale);
      else if (!reply.more) return handed;
    }
  };

  const namesOf = (jobs: readonly HandedJob[]) => jobs.map(({ name }) => name);

  describe('of concurrency', () => {
    it('keep more from being handed out than they say, and nothing else waits for them', async () => {
      await create({ match: [MAIL], concurrency: 2 });
      await enqueueMany(5, 'mail');
      await enqueue('other', {}, 9);
      const handed = await handOut();
      expect(namesOf(handed)).toEqual(['mail', 'mail', 'other']);
      await expect(handOut()).resolves.toEqual([]);
      const [first] = handed;
      if (first) await rig.succeed(first);
      expect(namesOf(await handOut())).toEqual(['mail']);
    });

    it('leave nothing behind that is still to be counted, once there are none', async () => {
      await enqueue('mail');
      const [running] = await handOut();
      const id = await create({ match: [MAIL], concurrency: 1 });
      await expect(used.redis.exists(`${rig.prefix}uncounted`)).resolves.toBe(1);
      if (running) await rig.succeed(running);
      await expect(store.remove(id)).resolves.toBe(true);
      await expect(used.redis.exists(`${rig.prefix}uncounted`)).resolves.toBe(0);
    });

    it('hold for each value on its own', async () => {
      await create({ match: [MAIL], per: 'argument.tenant', concurrency: 1 });
      await enqueueMany(3, 'mail', { tenant: 'a' });
      await enqueueMany(3, 'mail', { tenant: 'b' });
      const tenants = (await handOut()).map(({ argument }) => argument.bytes.toString('hex'));
      expect(tenants).toHaveLength(2);
      expect(new Set(tenants).size).toBe(2);
    });

    it('let thousands of lanes that wait for one limit come through, the best first', async () => {
      await create({ match: [], concurrency: 1 });
      await create({ match: [], per: 'argument.tenant', concurrency: 1 });
      const running = await enqueue('mail', { tenant: 'first' });
      for (let i = 0; i < 300; i++) await enqueue('mail', { tenant: i }, 300 - i);
      let [job] = await handOut();
      expect(job?.id).toBe(running);
      for (let priority = 1; priority <= 40; priority++) {
        if (job) await rig.succeed(job);
        const next = await handOut();
        expect(next).toHaveLength(1);
        [job] = next;
        expect(job?.argument.bytes).toEqual(Buffer.from(encode({ tenant: 300 - priority })));
      }
    });

    it('are free again when a job fails, is given back, or its push comes to nothing', async () => {
      await create({ match: [MAIL], concurrency: 1 });
      await enqueueMany(6, 'mail');
      const one = async () => {
        const [job, ...others] = await handOut();
        if (!job || others.length > 0) throw new Error('Expected one job.');
        return job;
      };
      await rig.fail(await one(), { shouldRetry: false });
      const refused = await one();
      await rig.answer(refused, 'refused');
      await rig.pass(1000);
      const again = await one();
      expect(again.id).toBe(refused.id);
      await rig.answer(again, 'accepted');
      await rig.pass(32_000);
      await rig.pass(1000);
      await expect(one()).resolves.toMatchObject({ name: 'mail' });
    });
  });

  describe('of rate', () => {
    it('let no more begin in any period than they say', async () => {
      await create({ match: [MAIL], rate: { count: 3, period: 10 } });
      await enqueueMany(20, 'mail');
      const starts: number[] = [];
      for (let step = 0; step < 100; step++) {
        const take = step % 7 === 0 || step > 20;
        if (take)
          for (const job of await handOut()) {
            starts.push(rig.now);
            await rig.succeed(job);
          }
        rig.now += 500;
      }
      expect(starts).toHaveLength(15);
      for (const start of starts) {
        expect(starts.filter((time) => time >= start && time < start + 10_000).length).toBeLessThanOrEqual(3);
      }
    });

    it('tell when the next may begin', async () => {
      await create({ match: [MAIL], rate: { count: 1, period: 10 } });
      await enqueueMany(2, 'mail');
      const [first] = await handOut();
      if (first) await rig.succeed(first);
      const { wait } = await rig.turn([]);
      expect(wait).toBe(10_000);
      rig.now += 9999;
      await expect(handOut()).resolves.toEqual([]);
      rig.now += 1;
      await expect(handOut()).resolves.toHaveLength(1);
    });

    it("don't count what never reached a worker", async () => {
      await create({ match: [MAIL], rate: { count: 1, period: 10 } });
      const id = await enqueue('mail');
      const [job] = await handOut();
      if (job) await rig.answer(job, 'unknown_name');
      await rig.worker();
      expect((await handOut()).map((next) => next.id)).toEqual([id]);
    });
  });

  describe('that many lanes wait for', () => {
    it('are used even if the best lanes have names that no worker takes any more', async () => {
      const all = await rig.worker({ maxJobs: 1000, names: ['mail'] });
      await create({ match: [], rate: { count: 2, period: 1 } });
      await create({ match: [], per: 'name', concurrency: 1000 });
      for (let i = 0; i < 200; i++) await enqueue(`gone-${i}`, {}, -1);
      await enqueueMany(30, 'mail');
      await handOut();
      await rig.run(operations.unregister('0000000000000001'));
      await rig.pass(0);
      let mails = 0;
      for (let ms = 0; ms < 15_000; ms += 50) {
        rig.now += 50;
        for (const job of await handOut()) {
          if (job.name === 'mail') mails += 1;
          if (job.worker === all) await rig.succeed(job);
        }
      }
      expect(mails).toBeGreaterThanOrEqual(26);
    });

    it('release all jobs that they no longer select, even if others wait for them anew', async () => {
      const id = await create({ match: [MAIL], concurrency: 1 });
      await create({ match: [MAIL], per: 'argument.tenant', concurrency: 1000 });
      await enqueue('mail', { tenant: 'long' }, -9);
      expect(await handOut()).toHaveLength(1);
      for (let tenant = 0; tenant < 300; tenant++) {
        await enqueue('mail', { tenant, kind: tenant % 2 === 0 ? 'bulk' : 'other' });
        await handOut();
      }
      await store.replace(id, { match: [MAIL, { field: 'argument.kind', equal: 'bulk' }], concurrency: 1 });
      let handed = 0;
      for (let turns = 0; turns < 20; turns++) {
        handed += (await handOut()).length;
        rig.now += 10;
      }
      expect(handed).toBeGreaterThanOrEqual(150);
    });

    it('are matched by the last change, even if another was made at the same time', async () => {
      const id = await create({ match: [MAIL], concurrency: 1 });
      const version = () => used.redis.get(`${rig.prefix}constraints-version`);
      const before = await version();
      const change = { match: [{ field: 'name', equal: 'x' }], concurrency: 1 };
      await Promise.all([store.replace(id, change), store.replace(id, { match: [MAIL], concurrency: 2 })]);
      expect(Number(await version())).toBe(Number(before) + 2);
      await store.replace(id, { match: [MAIL], concurrency: 3 });
      expect(Number(await version())).toBe(Number(before) + 2);
    });
  });

  describe('at run time', () => {
    it('hold for jobs that wait already', async () => {
      await enqueueMany(250, 'mail', { tenant: 1 });
      await enqueueMany(2, 'mail', { tenant: 2 });
      await create({ match: [{ field: 'argument.tenant', equal: 1 }], concurrency: 1 });
      expect(await handOut()).toHaveLength(3);
    });

    it('keep the order of jobs that are matched anew', async () => {
      const ids = [];
      for (let i = 0; i < 150; i++) ids.push(await enqueue('mail'));
      await create({ match: [], concurrency: 1000 });
      ids.push(await enqueue('mail'));
      expect((await handOut()).map(({ id }) => id)).toEqual(ids);
    });

    it('can be widened and narrowed', async () => {
      const id = await create({ match: [MAIL], concurrency: 1 });
      await enqueueMany(10, 'mail');
      expect(await handOut()).toHaveLength(1);
      await expect(store.replace(id, { match: [MAIL], concurrency: 4 })).resolves.toBe(true);
      const handed = await handOut();
      expect(handed).toHaveLength(3);
      await store.replace(id, { match: [MAIL], concurrency: 2 });
      for (const job of handed.slice(0, 2)) await rig.succeed(job);
      await expect(handOut()).resolves.toEqual([]);
    });

    it('can be turned to other jobs', async () => {
      const id = await create({ match: [MAIL], concurrency: 1 });
      await enqueueMany(3, 'mail');
      await enqueueMany(3, 'other');
      expect(namesOf(await handOut()).sort()).toEqual(['mail', 'other', 'other', 'other']);
      await store.replace(id, { match: [{ field: 'name', equal: 'x' }], concurrency: 1 });
      expect(await handOut()).toHaveLength(2);
    });

    it('let everything go when they are deleted', async () => {
      const id = await create({ match: [], per: 'argument.tenant', rate: { count: 1, period: 3600 } });
      for (let tenant = 0; tenant < 150; tenant++) await enqueueMany(2, 'mail', { tenant });
      expect(await handOut()).toHaveLength(150);
      await expect(store.remove(id)).resolves.toBe(true);
      expect(await handOut()).toHaveLength(150);
      await expect(store.remove(id)).resolves.toBe(false);
      await expect(store.replace(id, { match: [], concurrency: 1 })).resolves.toBe(false);
    });

    it('make a master that knows older ones ask for them', async () => {
      const old = store.current;
      const job = { name: 'mail', argument: Raw.EMPTY_MAP };
      await create({ match: [], concurrency: 1 });
      await expect(rig.enqueue(job, { ...old.limitsOf(job), version: '0' })).rejects.toThrow('stale');
    });
  });

  describe('that are put in force while jobs run', () => {
    const running = async (count: number, name = 'mail', argument = {}) => {
      await enqueueMany(count, name, argument);
      const handed = await handOut();
      for (const job of handed) await rig.answer(job, 'accepted');
      return handed;
    };

    it('count these: none is handed out before enough of them have ended', async () => {
      const handed = await running(5);
      const id = await create({ match: [MAIL], concurrency: 2 });
      await enqueueMany(9, 'mail');
      await enqueue('other');
      expect(namesOf(await handOut())).toEqual(['other']);
      for (const job of handed.slice(0, 4)) {
        expect(namesOf(await handOut())).toEqual([]);
        await rig.succeed(job);
      }
      expect(namesOf(await handOut())).toEqual(['mail']);
      await expect(used.redis.scard(`${rig.prefix}holds:${id}`)).resolves.toBe(2);
    });

    it('count jobs that were handed out and not answered yet, and those that a worker pulled', async () => {
      const puller = await rig.puller({ maxJobs: 2, names: ['mail'] });
      await enqueueMany(2, 'mail');
      await rig.pull(puller);
      await handOut();
      await create({ match: [MAIL], concurrency: 2 });
      await enqueue('mail');
      await expect(handOut()).resolves.toEqual([]);
      const pulled = await rig.run(operations.pull(puller));
      expect(pulled.job).toBeUndefined();
    });

    it('count for each value on its own, and with `per` or without it after a change', async () => {
      await running(2, 'mail', { tenant: 'a' });
      await running(1, 'mail', { tenant: 'b' });
      const id = await create({ match: [MAIL], concurrency: 3 });
      await enqueueMany(3, 'mail', { tenant: 'a' });
      await enqueueMany(3, 'mail', { tenant: 'b' });
      await expect(handOut()).resolves.toEqual([]);
      await store.replace(id, { match: [MAIL], per: 'argument.tenant', concurrency: 2 });
      expect(await handOut()).toHaveLength(1);
      await store.replace(id, { match: [MAIL], concurrency: 4 });
      await expect(handOut()).resolves.toEqual([]);
      await expect(used.redis.keys(`${rig.prefix}holds:*`)).resolves.toEqual([`${rig.prefix}holds:${id}`]);
    });

    it('no longer count them under what they do not fall under any more', async () => {
      const id = await create({ match: [MAIL], concurrency: 2 });
      await running(2);
      await store.replace(id, { match: [{ field: 'name', equal: 'other' }], concurrency: 2 });
      await store.load();
      await enqueueMany(3, 'other');
      expect(await handOut()).toHaveLength(2);
    });

    it('count their starts in a rate, as far back as the period', async () => {
      await running(1);
      rig.now += 6000;
      await running(2);
      const id = await create({ match: [MAIL], rate: { count: 3, period: 5 } });
      await enqueueMany(9, 'mail');
      expect(await handOut()).toHaveLength(1);
      await store.replace(id, { match: [MAIL], rate: { count: 5, period: 20 } });
      expect(await handOut()).toHaveLength(1);
      rig.now += 14_001;
      expect(await handOut()).toHaveLength(1);
    });

    it('count starts of jobs that run, once a rate is added', async () => {
      const id = await create({ match: [MAIL], concurrency: 100 });
      await running(3);
      await store.replace(id, { match: [MAIL], concurrency: 100, rate: { count: 4, period: 10 } });
      await enqueueMany(9, 'mail');
      expect(await handOut()).toHaveLength(1);
    });

    it('count hundreds of them, a part in a turn, and none that has ended meanwhile', async () => {
      const handed = await running(450);
      const id = await create({ match: [MAIL], concurrency: 250 });
      for (const job of handed.slice(0, 200)) await rig.succeed(job);
      await enqueueMany(9, 'mail');
      await expect(handOut()).resolves.toEqual([]);
      await expect(used.redis.scard(`${rig.prefix}holds:${id}`)).resolves.toBe(250);
      await expect(used.redis.exists(`${rig.prefix}uncounted`)).resolves.toBe(0);
      const [, last] = handed.slice(-2);
      if (last) await rig.succeed(last);
      expect(await handOut()).toHaveLength(1);
    });

    it('count one whose worker takes it after all, though it had gone back', async () => {
      await enqueue('mail');
      const [job] = await handOut();
      if (!job) throw new Error('Expected a job.');
      await rig.answer(job, 'silent');
      const id = await create({ match: [MAIL], concurrency: 1 });
      await rig.answer(job, 'accepted');
      await expect(rig.view(job.id)).resolves.toMatchObject({ status: 'running' });
      await enqueue('mail');
      await expect(handOut()).resolves.toEqual([]);
      await expect(used.redis.scard(`${rig.prefix}holds:${id}`)).resolves.toBe(1);
    });

    it('hold back no jobs without limits', async () => {
      await running(200);
      await create({ match: [MAIL], concurrency: 1 });
      await enqueue('other');
      const { handed, stale } = await rig.turn([], { pushes: 10 });
      expect([namesOf(handed), stale]).toEqual([['other'], []]);
    });
  });

  it('leave nothing behind when their jobs are done', async () => {
    await create({ match: [], per: 'argument.tenant', concurrency: 1, rate: { count: 5, period: 1 } });
    for (let tenant = 0; tenant < 5; tenant++) await enqueueMany(3, 'mail', { tenant });
    for (let round = 0; round < 3; round++) for (const job of await handOut()) await rig.succeed(job);
    await rig.pass(90_000_000);
    const keys = await used.redis.keys(`${rig.prefix}*`);
    const kept =
      /^(workers?|free|members|stirred|silent|swept|ids|constraints|constraints-version|limits|starts|names)/;
    expect(keys.map((key) => key.slice(rig.prefix.length)).filter((key) => !kept.test(key))).toEqual([]);
  });
});
