import { monitorEventLoopDelay } from 'node:perf_hooks';
import { describe, expect, it } from '@jest/globals';
import { eventually, until } from '../../support/until.js';
import type { OriginalWorker } from './original-actors.js';
import { useMaster, type UsedMaster } from './use-master.js';

const OK = '[1,{"no":1,"data":"ok"}]';
const poke = (...targets: string[]) => JSON.stringify([0, { no: 1, type: 'poke', data: { targets } }]);
const polls = (worker: OriginalWorker) =>
  worker.heard
    .filter(({ type }) => type === 'poll')
    .map(({ data }) => (data as { targets: string[] }).targets);
const polled = (worker: OriginalWorker, count: number) =>
  until(() => polls(worker).length >= count, { message: `no ${count} polls of the worker` });

/** Whether they were heard or not. */
const reached = (worker: OriginalWorker, count: number) =>
  until(() => polls(worker).length + worker.missed.length >= count, {
    message: `no ${count} polls came to the worker`,
  });

async function send(master: UsedMaster, ...pokes: string[]): Promise<void> {
  const client = await master.client();
  await expect(client.answers(...pokes)).resolves.toEqual(pokes.map(() => OK));
}

/** Of the 75 ms that the master gives a worker from its registration, the original needs 10 until it listens. */
const HELD_UP_MS = 50;

/**
 * Both are in this process: where it was held up for longer, the worker had no time of its own, and the attempt tells
 * nothing of the master. Another is made.
 */
async function unhindered<T>(attempt: () => Promise<T>): Promise<T> {
  const { result } = await until(async () => {
    const delays = monitorEventLoopDelay({ resolution: 5 });
    delays.enable();
    // A delay counts from the one before.
    await until(() => delays.count > 0);
    const result = await attempt();
    delays.disable();
    return delays.max / 1e6 < HELD_UP_MS && { result };
  });
  return result;
}

describe('poke', () => {
  const master = useMaster();

  it('polls a random worker for each target, one request a worker', async () => {
    const one = await master.worker('one', ['any', '1/low', '1/high']);
    const two = await master.worker('two', ['2/low']);
    await send(master, poke('any', '1/low', '2/low', 'any'));
    await Promise.all([polled(one, 1), polled(two, 1)]);
    expect([polls(one), polls(two)]).toEqual([[['any', '1/low']], [['2/low']]]);
  });

  it('reaches all workers of a target in the long run', async () => {
    const workers = [await master.worker('one', ['any']), await master.worker('two', ['any'])];
    await send(master, ...Array.from({ length: 64 }, () => poke('any')));
    await eventually(() => expect(workers.flatMap(polls)).toHaveLength(64));
    for (const worker of workers) expect(polls(worker).length).toBeGreaterThan(0);
  });

  it('remembers targets without a worker, and polls once a worker that serves them listens', async () => {
    const seen = await unhindered(async () => {
      await send(master, poke('late', 'other', 'constructor'));
      expect(master.master.waitingTargets).toBe(3);
      const worker = await master.worker('one', ['late', 'x', 'constructor']);
      await reached(worker, 1);
      const { waitingTargets } = master.master;
      await master.leave(worker);
      return { polls: polls(worker), missed: worker.missed, waitingTargets };
    });
    expect(seen).toEqual({ polls: [['late', 'constructor']], missed: [], waitingTargets: 1 });
  });

  it('never reaches a worker that does not listen yet', async () => {
    const client = await master.client();
    const worker = await unhindered(async () => {
      const registering = master.worker('one', ['any']);
      const pokes = setInterval(() => client.send(poke('any')), 1);
      const worker = await registering;
      await reached(worker, 1);
      clearInterval(pokes);
      await master.leave(worker);
      return worker;
    });
    expect(worker.missed).toEqual([]);
  });

  it('goes to another worker if one refuses or leaves, and is stored if none is left', async () => {
    const refuse = () => {
      throw new Error("invalid target 'any'");
    };
    await master.worker('bad', ['any'], refuse);
    const good = await master.worker('good', ['any']);
    await send(master, ...Array.from({ length: 16 }, () => poke('any')));
    await polled(good, 16);
    await master.leave(good);
    await master.worker('also bad', ['any'], refuse);
    await send(master, poke('any'));
    await eventually(() => expect(master.master.waitingTargets).toBe(1));
    const leaving = await master.worker('leaving', ['any'], () => new Promise(() => undefined));
    await reached(leaving, 1);
    await master.leave(leaving);
    await eventually(() => expect(master.master.waitingTargets).toBe(1));
  });

  it('forgets the oldest of too many targets without a worker', async () => {
    const client = await master.client();
    const targets = Array.from({ length: 10_001 }, (_, index) => `t${index}`);
    for (const some of [targets.slice(0, 5000), targets.slice(5000)])
      await client.answers(JSON.stringify([0, { no: 1, type: 'poke', data: { targets: some } }]));
    expect(master.master.waitingTargets).toBe(10_000);
  });
});

describe('poke for all workers', () => {
  const master = useMaster({ pollAllWorkers: true });

  it('polls every worker that serves a target', async () => {
    const workers = [await master.worker('one', ['any', 'a']), await master.worker('two', ['any'])];
    await send(master, poke('any', 'a', 'b'));
    await Promise.all(workers.map((worker) => polled(worker, 1)));
    expect(workers.map(polls)).toEqual([[['any', 'a']], [['any']]]);
  });
});

describe('the throttle of poke', () => {
  const master = useMaster({ pokeThrottleInterval: 300 });

  it('passes the first on at once, and the union of the others at the end of the interval', async () => {
    const worker = await master.worker('one', ['a', 'b', 'c']);
    await send(master, poke('a'), poke('b'), poke('c', 'b'), poke('a'));
    await polled(worker, 2);
    expect(polls(worker)).toEqual([['a'], ['b', 'c', 'a']]);
    await send(master, poke('c'));
    await polled(worker, 3);
    expect(polls(worker)[2]).toEqual(['c']);
  });
});

describe('registrations', () => {
  const master = useMaster({ pingInterval: 400 });

  it('are replaced by later ones on the same connection', async () => {
    const worker = await master.worker('one', ['a']);
    worker.wire.send(
      JSON.stringify([0, { no: 2, type: 'register-worker', data: { targets: ['b'], name: 'one' } }]),
    );
    await eventually(() => expect(worker.wire.received).toContain('[1,{"no":2,"data":"ok"}]'));
    expect(master.master.workers).toBe(1);
    await send(master, poke('a', 'b'));
    await polled(worker, 1);
    expect(polls(worker)).toEqual([['b']]);
  });

  it('are pinged, and end with the first unanswered ping', async () => {
    const [lively, mute] = [await master.worker('lively', ['a']), await master.worker('mute', ['a'])];
    await until(() => lively.pings > 0 && mute.pings > 0);
    mute.isMute = true;
    await mute.wire.ended();
    await eventually(() => expect(master.master.workers).toBe(1));
    const pings = lively.pings;
    await eventually(() => expect(lively.pings).toBeGreaterThan(pings));
  });
});
