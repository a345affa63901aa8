import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import type { GearMonkeyClient } from '../../lib/gearmonkey/client.js';
import { RedisActors, submit } from '../gearmonkey/redis-rig.js';
import { CommandTrace, type Traced } from '../support/command-trace.js';
import { runWorker, stopWorkers } from '../support/run-worker.js';
import { eventually, until } from '../support/until.js';
import { useRedis } from '../support/use-redis.js';
import { connectionsOf, type Connection } from './connections.js';
import { onThisMachine } from '../support/machine.js';

const WORKERS = 100;
/** To claim a job, to claim ahead of it, and to tell its outcome and hear that there is no other. */
const CLAIMS_A_JOB = 3;

describe(`${WORKERS} idle workers`, () => {
  const server = useRedis();
  const fn = 'fn';
  let actors: RedisActors;
  let client: GearMonkeyClient;
  let trace: CommandTrace;
  let runs = 0;

  beforeAll(async () => {
    actors = new RedisActors(server.url);
    client = actors.client();
    for (let i = 0; i < WORKERS; i++) await runWorker(actors.source(), fn, async () => (runs += 1));
    await client.call(fn, 'the first of all: connections are open, scripts are loaded');
    trace = await CommandTrace.start(server.redis);
  });

  afterAll(async () => {
    trace.stop();
    await stopWorkers();
    actors.close();
  });

  /** What it took to run jobs that begin and end with all workers idle. */
  async function effort(jobs: number, enqueue: () => Promise<unknown>): Promise<Effort> {
    await until(() => allIdle(server.redis));
    await trace.take();
    const [before, since] = [runs, performance.now()];
    await enqueue();
    await eventually(() => expect(runs).toBe(before + jobs), { message: `Not all of ${jobs} jobs were run` });
    await until(() => allIdle(server.redis));
    const commands = await trace.take();
    const seconds = (performance.now() - since) / 1000;
    return effortOf(commands, await connectionsOf(server.redis), Math.ceil(seconds) * WORKERS);
  }

  it('wake only one for one job', async () => {
    const { wakeUps, claims } = await effort(1, () => client.run(fn, 'x'));
    expect(wakeUps).toBe(1);
    expect(claims).toBeLessThanOrEqual(CLAIMS_A_JOB);
  });

  it.each([10, 100])('are woken once for each of %d jobs that come together', async (jobs) => {
    const { wakeUps, claims } = await effort(jobs, () => client.runMany(fn, Array<string>(jobs).fill('x')));
    // The leader may look at just that time, and wake one more.
    expect(wakeUps).toBeLessThanOrEqual(jobs + 2);
    expect(claims).toBeLessThanOrEqual((jobs + 2) * CLAIMS_A_JOB);
  });

  it('are woken once for each of ten jobs that come one by one', async () => {
    for (let job = 0; job < 10; job++) {
      const { wakeUps, claims } = await effort(1, () => client.run(fn, 'x'));
      expect(wakeUps).toBeLessThanOrEqual(2);
      expect(claims).toBeLessThanOrEqual(2 * CLAIMS_A_JOB);
    }
  });

  it('wake hardly more than one for a job of a plain client', async () => {
    const { wakeUps, claims } = await effort(1, () => submit(server.redis, fn, '"x"'));
    expect(wakeUps).toBeLessThanOrEqual(2);
    expect(claims).toBeLessThanOrEqual(2 * CLAIMS_A_JOB);
  });

  it('are woken about once for each of ten jobs of a plain client', async () => {
    const { wakeUps, claims } = await effort(10, () =>
      Promise.all(Array.from({ length: 10 }, () => submit(server.redis, fn, '"x"'))),
    );
    expect(wakeUps).toBeLessThanOrEqual(13);
    expect(claims).toBeLessThanOrEqual(13 * CLAIMS_A_JOB);
  });

  it('begin a job of a plain client within 50 ms in at least half of the cases', async () => {
    const waits: number[] = [];
    for (let job = 0; job < 15; job++) {
      await until(() => allIdle(server.redis));
      const before = runs;
      const since = performance.now();
      await submit(server.redis, fn, '"x"');
      await eventually(() => expect(runs).toBeGreaterThan(before));
      waits.push(performance.now() - since);
    }
    expect(waits.toSorted((one, other) => one - other)[7]).toBeLessThan(onThisMachine(50));
  });

  it('wake hardly more than one for each of several scheduled jobs', async () => {
    const soon = Date.now() + 1500;
    const { wakeUps, claims } = await effort(3, async () => {
      for (const ms of [0, 300, 600]) await client.run(fn, 'x', { scheduled: new Date(soon + ms) });
    });
    // One each for the enqueue, for who knows of it by that, and for the leader.
    expect(wakeUps).toBeLessThanOrEqual(9);
    expect(claims).toBeLessThanOrEqual(9 * CLAIMS_A_JOB);
  });
});

interface Effort {
  /** Markers that were set: each wakes one worker. */
  readonly wakeUps: number;
  /** Calls that claim, without those that idle workers make when they have waited for a second. */
  readonly claims: number;
}

/** @param waits how often the calls of idle workers may have waited a second without a job */
function effortOf(commands: readonly Traced[], connections: readonly Connection[], waits: number): Effort {
  const blocking = new Set(
    connections.filter(({ role }) => role === 'blocking').map(({ address }) => address),
  );
  const taken = commands.filter(({ name }) => name === 'claim');
  const behindWaits = taken.filter(({ source }) => blocking.has(source)).length;
  const wakeUps = commands.filter(({ name, args }) => name === 'lpush' && args[0] === 'wake:fn').length;
  return { wakeUps, claims: taken.length - behindWaits + Math.max(wakeUps, behindWaits - waits) };
}

/** Whether all workers wait in their blocking call. */
async function allIdle(redis: Redis): Promise<boolean> {
  const connections = await connectionsOf(redis);
  return connections.filter(({ cmd, blocked }) => blocked && cmd === 'blpop').length === WORKERS;
}
