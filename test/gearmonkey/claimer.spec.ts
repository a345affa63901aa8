import { realNow } from '../../lib/job/real-time.js';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { setImmediate as turn } from 'node:timers/promises';
import type { RedisSource } from '../../lib/gearmonkey/redis-source.js';
import type { RedisSourceOptions } from '../../lib/gearmonkey/core/source/source-options.js';
import type { Claim } from '../../lib/job/job-source.js';
import { SlotTable } from '../../lib/worker/function-slots.js';
import { claimOne, claimUpTo, success } from '../contract/claiming.js';
import { LossyProxy } from '../support/lossy-proxy.js';
import { SlowLine } from '../support/slow-line.js';
import { runWorker } from '../support/run-worker.js';
import { eventually, until } from '../support/until.js';
import { useRedis } from '../support/use-redis.js';
import { RedisActors } from './redis-rig.js';

const SLOTS = 3;
/** Of jobs that are lost. */
const SHORT_LEASE_MS = 200;

/** Jobs are leased for much longer than these tests take: those that nothing gives back stay where they are. */
describe('A source of jobs', () => {
  const server = useRedis();
  const toClose: { close(): unknown }[] = [];
  let fn: string;
  let ids: string[];

  beforeEach(async () => {
    fn = server.fn();
    const client = opened(new RedisActors(server.url)).client();
    // Its scripts are known from now on: a call is one request.
    await client.run(`${fn}-first`, 0);
    const jobs = await client.runMany(fn, [1, 2, 3]);
    ids = jobs.map(({ id }) => id);
  });
  afterEach(async () => {
    for (const each of toClose.splice(0).toReversed()) await each.close();
  });

  function opened<T extends { close(): unknown }>(each: T): T {
    toClose.push(each);
    return each;
  }

  /** A source whose connections lead through a proxy. */
  async function sourceOn(url: string, options: RedisSourceOptions = {}): Promise<RedisSource> {
    const source = opened(opened(new RedisActors(url)).source(options));
    await source.open([fn]);
    return source;
  }

  const waiting = async () => (await server.redis.lrange(`queue:${fn}:normal`, 0, -1)).toReversed();
  const leases = () => server.redis.zcard(`lease:${fn}`);
  /** Whether all jobs were claimed and are leased no more. */
  async function givenBack(): Promise<boolean> {
    const ended = await Promise.all(ids.map((id) => server.redis.hexists(`job:${fn}:${id}`, 'settled')));
    return ended.every(Boolean) && (await leases()) === 0;
  }

  describe('that stops while a call is under way', () => {
    /** A claim whose request has not arrived yet when `act` is called. */
    async function claimThen(act: (source: RedisSource, slots: SlotTable, stop: AbortController) => void) {
      const line = await SlowLine.start(server.port);
      opened({ close: () => line.stop() });
      const source = await sourceOn(line.url);
      line.separate('held');
      const [slots, stop] = [new SlotTable([[fn, SLOTS]]), new AbortController()];
      const claims = source.claim(slots, stop.signal);
      await turn();
      act(source, slots, stop);
      await expect(claims).resolves.toEqual([]);
      line.heal();
    }

    it.each([SLOTS, 0])('gives back in order what that has claimed, with %d free slots', async (free) => {
      await claimThen((_, slots, stop) => {
        slots.set(fn, free);
        stop.abort();
      });
      await eventually(async () => {
        expect(await givenBack()).toBe(true);
        expect(await waiting()).toEqual(ids);
      });
    });

    it('closes when it has given that back', async () => {
      let closing: Promise<void> | undefined;
      await claimThen((source) => (closing = source.close()));
      await closing;
      await expect(givenBack()).resolves.toBe(true);
      await expect(waiting()).resolves.toEqual(ids);
      await expect(server.redis.exists(`workers:${fn}`)).resolves.toBe(0);
    });
  });

  it('writes the outcomes of several functions, those of each in order', async () => {
    const other = server.fn();
    const client = opened(new RedisActors(server.url)).client();
    await client.runMany(other, [1, 2]);
    const source = await sourceOn(server.url);
    await source.open([other]);
    const [claims, others] = [await claimUpTo(source, fn, SLOTS), await claimUpTo(source, other, 2)];
    // The newest first, so that the oldest ends up in front.
    const mixed = [...others, ...claims]
      .toReversed()
      .map((claim) => ({ claim, status: 'released' as const }));
    await expect(source.settle(mixed)).resolves.toEqual([]);
    await expect(waiting()).resolves.toEqual(ids);
  });

  it('gives back what it has claimed behind a wait if the reply is lost, and claims it again', async () => {
    const proxy = await LossyProxy.start(server.port);
    opened({ close: () => proxy.stop() });
    const source = await sourceOn(proxy.url);
    const held = await claimUpTo(source, fn, SLOTS);
    expect(held).toHaveLength(SLOTS);
    const claims = claimOne(source, fn);
    const blocked = async () => String(await server.redis.client('LIST')).includes('cmd=blpop');
    await until(blocked);
    proxy.lose = 1;
    await opened(new RedisActors(server.url)).client().run(fn, 4);
    await expect(claims).resolves.toMatchObject({ id: '4', attempts: 1, stalls: 0 });
    expect(proxy.lost).toBe(1);
  });

  it('takes a job whose lease has ended before those that wait, and the other worker finds that out', async () => {
    const dead = await sourceOn(server.url, { lease: SHORT_LEASE_MS });
    const lost = await claimOne(dead, fn);
    const source = await sourceOn(server.url, { lease: SHORT_LEASE_MS });
    const ended = async () =>
      Number(await server.redis.zscore(`lease:${fn}`, `${lost.id}:${lost.token}`)) < Date.now();
    await until(ended);
    await expect(claimOne(source, fn)).resolves.toMatchObject({ id: lost.id, attempts: 2, stalls: 1 });
    await expect(dead.renew([lost])).resolves.toEqual([lost]);
    await expect(dead.settle([success(lost)])).resolves.toEqual([lost]);
  });

  /** Lets so much time pass that a lease, or the half of it, may be over. */
  const pass = (ms: number) => {
    const from = performance.now();
    return until(() => performance.now() > from + ms);
  };

  type Renewal = 'in time' | 'late' | 'refused';

  it.each([
    ['begins what a reply brings that is read late only with a new lease', ['in time'], '1', 0],
    ['does not begin what a reply brings that is read late if another has it', ['refused'], '2', 1],
    ['asks again for a lease if that reply is read late as well', ['late', 'in time'], '1', 0],
    ['gives back what gets no lease in time', ['late', 'late', 'late'], '2', 0],
  ] as [string, Renewal[], string, number][])('whose worker %s', async (_, answers, claimed, stalls) => {
    const line = await SlowLine.start(server.port);
    opened({ close: () => line.stop() });
    const source = await sourceOn(line.url, { lease: SHORT_LEASE_MS });
    // Its connection is open then, so that the next claim is on its way before the line is cut.
    await expect(claimOne(source, fn)).resolves.toMatchObject({ id: ids[0] });
    const held = source['held'];
    const renew = held.renew.bind(held);
    const left = [...answers];
    const known: boolean[] = [];
    held.renew = async (claims) => {
      // Of jobs that were claimed afterwards.
      if (!claims.some(({ id }) => id === ids[1])) return renew(claims);
      known.push(claims.every((claim) => held.holds(claim)));
      const answer = left.shift();
      // As if another worker had the job by now.
      if (answer === 'refused') return [...claims];
      if (answer === undefined) return renew(claims);
      const lost = await renew(claims);
      if (answer === 'late') await pass(SHORT_LEASE_MS);
      return lost;
    };
    line.separate('held');
    const ran: Claim[] = [];
    // It renews no lease by itself, so that each answer is to a run that has not begun.
    await runWorker(Object.assign(source, { renewInterval: undefined }), fn, (_input, job) =>
      ran.push(job.claim),
    );
    await until(() => source['claimer']['underWay'].size > 0);
    await pass(2 * SHORT_LEASE_MS);
    line.heal();
    await until(() => ran.some(({ id }) => id === ids[1]));
    const [claim] = ran.filter(({ id }) => id === ids[1]) as [Claim];
    // A token ends with how often its job was claimed.
    expect([claim.stalls, String(claim.token).at(-1)]).toEqual([stalls, claimed]);
    expect(left).toEqual([]);
    // The lease keeper renews it meanwhile, whatever holds up this thread.
    expect(known.slice(0, answers.length)).toEqual(answers.map(() => true));
  });

  it('sends outcomes again whose reply is lost', async () => {
    const proxy = await LossyProxy.start(server.port);
    opened({ close: () => proxy.stop() });
    const source = await sourceOn(proxy.url);
    const claims = await claimUpTo(source, fn, 2);
    proxy.lose = 2;
    let refused: readonly Claim[] | undefined;
    void source.settle(claims.map((claim) => success(claim))).then((gone) => (refused = gone));
    await eventually(() => expect(refused).toEqual([]));
    expect(proxy.lost).toBe(2);
    await expect(server.redis.hget(`job:${fn}:1`, 'status')).resolves.toBe('success');
    await expect(leases()).resolves.toBe(0);
  });

  it('is not counted for a function that it has stopped, whose lease group the next one uses', async () => {
    const source = await sourceOn(server.url);
    for (const next of ['b', 'c', 'd'].map((name) => server.fn(name))) {
      await source.withdraw([fn]);
      await expect(server.redis.mget(`count:${fn}`)).resolves.toEqual(['0']);
      await source.open([next]);
      expect(source['held']['groups']).toEqual([next]);
      fn = next;
    }
  });

  it('renews the leases of a function that it has stopped until their outcomes are written, whatever it begins', async () => {
    const options = { presence: SHORT_LEASE_MS };
    const source = opened(opened(new RedisActors(server.url)).source(options, { keeper: true }));
    const lost: Claim[] = [];
    await source.open([fn], (claim) => lost.push(claim));
    const claim = await claimOne(source, fn);
    await source.withdraw([fn]);
    const [next, other] = [server.fn('b'), server.fn('c')];
    await source.open([next]);
    expect(source['held']['groups']).toEqual([fn, next]);
    const expiry = async () => Number(await server.redis.zscore(`lease:${fn}`, `${claim.id}:${claim.token}`));
    const [before, from] = [await expiry(), realNow()];
    await until(() => lost.length > 0 || (source['held']['keeper']?.renewedAt ?? 0) > from);
    expect(lost).toEqual([]);
    await expect(expiry()).resolves.toBeGreaterThan(before);
    await expect(source.settle([success(claim)])).resolves.toEqual([]);
    await source.open([other]);
    expect(source['held']['groups']).toEqual([other, next]);
  });

  it.each([
    ['knows that a lease may be over until it has renewed it', false],
    ['hears from its thread that it renews them', true],
  ])('%s', async (_, keeper) => {
    const source = opened(opened(new RedisActors(server.url)).source({ lease: SHORT_LEASE_MS }, { keeper }));
    await source.open([fn]);
    const claim = await claimOne(source, fn);
    // This thread renews at first, until the other one is there.
    if (keeper) source['held'].renew = () => Promise.resolve([]);
    await pass(SHORT_LEASE_MS);
    if (keeper) {
      await until(() => !source.leases.mayBeLost?.(claim));
      // Its thread renews it no longer.
      source.leases.setDeadline?.(claim, 0);
      return until(() => source.leases.mayBeLost?.(claim));
    }
    expect(source.leases.mayBeLost?.(claim)).toBe(true);
    // On a busy machine the reply may be late as well.
    await until(async () => (await source.renew([claim])) !== undefined && !source.leases.mayBeLost?.(claim));
  });

  it('takes no lease for held that its thread has not known of: a reply that was read late', async () => {
    const source = opened(
      opened(new RedisActors(server.url)).source({ lease: SHORT_LEASE_MS }, { keeper: true }),
    );
    await source.open([fn]);
    const claim = await claimOne(source, fn);
    const held = source['held'];
    held.drop(claim);
    // Just now the thread has renewed all that it knew.
    await until(() => (held['keeper']?.renewedAt ?? 0) > realNow() - SHORT_LEASE_MS / 4);
    held.add([claim], realNow() - SHORT_LEASE_MS);
    expect(source.leases.mayBeLost?.(claim)).toBe(true);
    await until(async () => (await source.renew([claim])) !== undefined && !source.leases.mayBeLost?.(claim));
  });

  it('keeps nothing of a claim that has ended', async () => {
    const source = await sourceOn(server.url);
    const slots = new SlotTable([[fn, 1]]);
    const [claim] = (await source.claim(slots, new AbortController().signal)) as [Claim];
    expect(slots['listeners'].size).toBe(0);
    expect(source['held'].holds(claim)).toBe(true);
    await source.settle([success(claim)]);
    expect(source['held'].holds(claim)).toBe(false);
  });
});
