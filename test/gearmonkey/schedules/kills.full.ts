import { afterEach, describe, expect, it } from '@jest/globals';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Redis } from 'ioredis';
import { tickDue } from '../../../lib/gearmonkey/features/schedules/tick.js';
import { openConnections } from '../../../lib/gearmonkey/redis-connections.js';
import { GearMonkeyClient } from '../../../lib/gearmonkey/client.js';
import { RedisStore } from '../../../lib/gearmonkey/redis-store.js';
import { keysOf } from '../../../lib/gearmonkey/core/wire/protocol.js';
import { Random } from '../../chaos/random.mjs';
import { killProcesses } from '../../support/test-process.js';
import { eventually } from '../../support/until.js';
import { useRedis } from '../../support/use-redis.js';
import { Program } from '../../support/worker-process.js';
import { tickJobs, violations, type TickJob } from './history.js';

const WORKER = fileURLToPath(new URL('../worker-program.ts', import.meta.url));
/** `npm run check -- recurring` asks for more. */
const TICKS = Number(process.env['RECURRING_TICKS'] ?? 250);
const PROCESSES = TICKS > 1000 ? 10 : 3;
const EVERY_MS = 1000;
const RIVALS = 4;
const RIVAL_PAUSE_MS = 20;
const SCHEDULES = Math.ceil(Math.sqrt(TICKS) * 2);

describe('the check of a history', () => {
  const job = (slot: number, more: Partial<TickJob> = {}): TickJob => ({
    ...{ id: String(slot), schedule: 'a', slot, status: 'success' },
    previous: slot > 1 ? slot - 1 : undefined,
    ...more,
  });

  it('accepts each slot once', () => {
    expect(violations([job(1), job(2), job(3)], 1)).toEqual([]);
  });

  it.each([
    ['a slot that two jobs have', [job(1), job(1, { id: '7', previous: 1 })], 'has the same slot'],
    ['a slot without a job', [job(1), job(3, { previous: 1 })], 'slots are missing after 1'],
    ['a wrong slot before', [job(1), job(2, { previous: 0 })], 'previous is 0, not 1'],
    ['a job that has not ended', [job(1, { status: 'busy' })], 'is still busy'],
  ])('finds %s', (_, jobs, problem) => {
    expect(violations(jobs, 1)).toEqual([expect.stringContaining(problem)]);
  });
});

describe('schedules whose workers are killed, stopped and cut off', () => {
  const server = useRedis();
  afterEach(killProcesses);

  it(`create each of ${TICKS} jobs once`, async () => {
    const fn = server.fn();
    const chance = new Random(Number(process.env['RECURRING_SEED'] ?? Date.now() % 100_000));
    const { commands, hub, close } = openConnections(server.url);
    const store = new RedisStore(commands, hub, { timeout: 15_000, keysOf });
    const client = new GearMonkeyClient(store);
    const start = () => Program.start(WORKER, { url: server.url, fn, lease: 2000, concurrency: 20 });
    const programs = await Promise.all(Array.from({ length: PROCESSES }, start));

    for (let i = 0; i < SCHEDULES; i++)
      await client.recur(fn, { id: `s${i}`, every: EVERY_MS, catchUp: 'all', input: {} });
    const end = performance.now() + (TICKS / SCHEDULES) * EVERY_MS + 3000;
    // Usually only one worker leads and ticks. These do so at any time, as workers that take themselves for the leader.
    const rivals = Array.from({ length: RIVALS }, async () => {
      while (performance.now() < end) {
        await tickDue(store.schedules, fn).catch(() => undefined);
        await delay(RIVAL_PAUSE_MS);
      }
    });
    while (performance.now() < end) await fault(programs, chance, start, server.redis);

    await Promise.all(rivals);
    for (let i = 0; i < SCHEDULES; i++) await client.schedules.pause(`s${i}`);
    await eventually(async () => expect(await left(server.redis, fn)).toBe(0), { timeout: 60_000 });
    const jobs = await tickJobs(server.redis, fn);
    expect(violations(jobs, EVERY_MS)).toEqual([]);
    const schedules = new Set(jobs.map(({ schedule }) => schedule));
    expect(schedules.size).toBe(SCHEDULES);
    expect(jobs.length).toBeGreaterThanOrEqual(TICKS * 0.8);
    for (const { id, created } of await client.schedules.list(fn))
      expect(created).toBe(jobs.filter(({ schedule }) => schedule === id).length);
    await client.close();
    close();
  }, 900_000);
});

/** How many jobs have not ended. */
async function left(redis: Redis, fn: string): Promise<number> {
  return Number(await redis.zcard(`lease:${fn}`)) + Number(await redis.zcard(`queue:${fn}:scheduled`));
}

/** One of the faults, and a while for what follows. */
async function fault(
  programs: Program[],
  chance: Random,
  start: () => Promise<Program>,
  redis: Redis,
): Promise<void> {
  const program = chance.pick(programs);
  const what = chance.next();
  if (what < 0.5) {
    await program.kill();
    programs[programs.indexOf(program)] = await start();
  } else if (what < 0.75) {
    // Longer than it leads: it comes back to ticks that another has done.
    program.signal('SIGSTOP');
    await delay(1000 + chance.next() * 3500);
    program.signal('SIGCONT');
  } else if (what < 0.9) {
    await redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
  } else {
    await redis.script('FLUSH');
  }
  await delay(chance.next() * 1000);
}
