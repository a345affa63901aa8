import { GearMonkeyClient, type ClientOptions } from '../../../lib/gearmonkey/client.js';
import type { GearMonkeyStore } from '../../../lib/gearmonkey/features/index.js';
import { RedisStore } from '../../../lib/gearmonkey/redis-store.js';
import { tickDue } from '../../../lib/gearmonkey/features/schedules/tick.js';
import { openConnections } from '../../../lib/gearmonkey/redis-connections.js';
import { keysOf } from '../../../lib/gearmonkey/core/wire/protocol.js';
import type { Clock } from '../../../lib/job/clock.js';
import type { Job } from '../../../lib/job/job.js';
import { EmbeddedServer } from '../../../lib/embedded/embedded-server.js';
import { EmbeddedStore } from '../../embedded/embedded-store.js';
import { TestClock } from '../../../lib/testing/test-clock.js';
import { shareRedis } from '../../support/shared-redis.js';

/** A server of a `describe` whose time the test sets. */
export interface ScheduleRig {
  readonly clock: TestClock;
  fn(): string;
  store(): GearMonkeyStore;
  /** Ends a job as a worker does. */
  finish(fn: string, id: string): Promise<void>;
  close(): Promise<void>;
}

/** Clients of a rig, and what workers do when a tick is due. */
export class Schedules {
  constructor(readonly rig: ScheduleRig) {}

  client(options?: ClientOptions): GearMonkeyClient {
    return new GearMonkeyClient(this.rig.store(), options);
  }

  setTime(time: string): void {
    const { clock } = this.rig;
    const now = Date.parse(time);
    if (now >= clock.now()) clock.moveTo(now);
    else clock.setBack(now);
  }

  /** Ticks until nothing is due; several workers do so at the same time. */
  async tick(fn: string, workers = 2): Promise<void> {
    const ticking = Array.from({ length: workers }, async () => {
      const { schedules } = this.rig.store();
      while ((await tickDue(schedules, fn)).wait === 0);
    });
    await Promise.all(ticking);
  }

  async tickAt(fn: string, ...times: string[]): Promise<void> {
    for (const time of times) {
      this.setTime(time);
      await this.tick(fn);
    }
  }

  /** All jobs of a function. */
  async jobs(fn: string): Promise<Job[]> {
    const client = this.client();
    const found: Job[] = [];
    for (let id = 1; ; id++) {
      const job = await client.get(fn, id);
      if (!job) return found;
      found.push(job);
    }
  }

  /** The slots of all its jobs. */
  async slots(fn: string): Promise<string[]> {
    return (await this.jobs(fn)).map(({ recurring }) => recurring?.slot.toISOString() ?? 'none');
  }
}

const START = Date.parse('2026-11-22T08:00:00Z');

export async function memoryScheduleRig(): Promise<ScheduleRig> {
  const clock = new TestClock(START);
  const server = new EmbeddedServer(clock);
  const store = new EmbeddedStore(server, { clock });
  let names = 0;
  return {
    clock,
    fn: () => `fn-${++names}`,
    store: () => store,
    finish: async (fn, id) => {
      const { jobs, scheduled } = keysOf(fn);
      server.run('ZREM', [scheduled, id]);
      server.run('HSET', [jobs + id, 'status', 'success']);
    },
    close: () => store.close(),
  };
}

export async function redisScheduleRig(): Promise<ScheduleRig> {
  const clock: Clock & TestClock = new TestClock(START);
  const { url, release } = await shareRedis();
  const { commands, hub, close } = openConnections(url);
  const store = new RedisStore(commands, hub, { timeout: 15_000, keysOf, clock });
  let names = 0;
  return {
    clock,
    fn: () => `fn-${++names}`,
    store: () => store,
    finish: async (fn, id) => {
      const { jobs, scheduled } = keysOf(fn);
      await commands.insist((redis) =>
        redis
          .multi()
          .zrem(scheduled, id)
          .hset(jobs + id, 'status', 'success')
          .exec(),
      );
    },
    close: async () => {
      await store.close();
      close();
      await release();
    },
  };
}
