import { afterEach, beforeEach } from '@jest/globals';
import { Injectable, type INestApplicationContext } from '@nestjs/common';
import { Redis } from 'ioredis';
import { appendFileSync } from 'node:fs';
import {
  GearMonkeyClient,
  GearMonkeyHealth,
  GearMonkeyModule,
  Worker,
  defineJob,
  type RedisModuleOptions,
  type InstanceHealth,
  type RunningJob,
} from '../../lib/index.js';
import { submit } from '../gearmonkey/redis-rig.js';
import { gate } from '../support/gate.js';
import { RedisServer } from '../support/redis-server.js';
import { until } from '../support/until.js';
import { useApps, type UsedApps } from '../support/use-apps.js';
import { onThisMachine } from '../support/machine.js';

export const work = defineJob<string, string>('work');

/** A job with this input runs until `letGo`. */
export const HELD = 'held';

/** A worker resumes within 2 s of the server's return; a busy machine is given this. */
export const RESUME_BOUND_MS = 5000;

/** Every acknowledged write is on disk, so that what is lost is the worker's or client's fault. */
export const DURABLE = ['--appendonly', 'yes', '--appendfsync', 'always'];

/** Where `OUTAGE_FIGURES` names a file, what was measured is added to it. */
export function figure(what: string, milliseconds: number): void {
  const path = process.env['OUTAGE_FIGURES'];
  if (path) appendFileSync(path, `${what}\t${Math.round(milliseconds)}\n`);
}

/** An app with a client and, unless told otherwise, ten slots for `work`. */
export class Actor {
  /** Ids in the order in which their handlers began. */
  readonly runs: string[] = [];
  private readonly held = gate();

  constructor(
    readonly app: INestApplicationContext,
    begun: string[],
    held: { passed: Promise<void>; open(value: void): void },
  ) {
    this.runs = begun;
    this.held = held;
  }

  get client(): GearMonkeyClient {
    return this.app.get(GearMonkeyClient);
  }

  get health(): InstanceHealth {
    return this.app.get(GearMonkeyHealth).check()[0] as InstanceHealth;
  }

  letGo(): void {
    this.held.open();
  }

  /** Ids whose handler began more than once. */
  get repeated(): string[] {
    return this.runs.filter((id, index) => this.runs.indexOf(id) !== index);
  }
}

export interface Outage {
  readonly server: RedisServer;
  /** A plain client: connects again by itself, and is asked only while the server is up. */
  readonly redis: Redis;
  actor(options?: Partial<RedisModuleOptions>, settings?: { works?: boolean }): Promise<Actor>;
}

/** For a `describe`: a private server for each of its tests, and the apps that are to survive its faults. */
export function useOutage(args: readonly string[] = DURABLE): Outage {
  const apps = useApps();
  let server: RedisServer;
  let redis: Redis;

  beforeEach(async () => {
    server = await RedisServer.start(args);
    redis = new Redis(server.url, { retryStrategy: () => 20 });
    redis.on('error', () => undefined);
  });
  afterEach(async () => {
    redis.disconnect();
    await server.stop();
  });

  return {
    get server() {
      return server;
    },
    get redis() {
      return redis;
    },
    actor: (options = {}, { works = true } = {}) =>
      actor(apps, { connection: server.url, ...options }, works),
  };
}

export async function actor(apps: UsedApps, options: RedisModuleOptions, works: boolean): Promise<Actor> {
  const begun: string[] = [];
  const held = gate();
  const providers = works ? [handlersOf(begun, held.passed)] : [];
  const app = await apps.start({
    imports: [GearMonkeyModule.forRoot({ shutdownTimeout: '1s', ...options })],
    providers,
  });
  return new Actor(app, begun, held);
}

function handlersOf(begun: string[], letGo: Promise<void>) {
  @Injectable()
  class Handlers {
    @Worker(work, { concurrency: 10 })
    async work(input: string, job: RunningJob) {
      begun.push(job.id);
      if (input === HELD) await letGo;
      return `${input}, done`;
    }
  }
  return Handlers;
}

/** Milliseconds until a job, enqueued now by a plain client that sets the marker, has finished. */
export async function timeToRun(redis: Redis): Promise<number> {
  const since = performance.now();
  const id = await submit(redis, 'work', '"after"');
  await redis.lpush('wake:work', '1');
  await until(async () => (await redis.hget(`job:work:${id}`, 'status')) === 'success', {
    timeout: onThisMachine(RESUME_BOUND_MS),
    message: 'The worker did not resume',
  });
  return performance.now() - since;
}

/** Every job there is has ended with success, and none has run twice. */
export async function statuses(redis: Redis): Promise<Record<string, number>> {
  const last = Number(await redis.get('uid:work'));
  const found: Record<string, number> = {};
  for (let id = 1; id <= last; id++) {
    const status = (await redis.hget(`job:work:${id}`, 'status')) ?? 'gone';
    found[status] = (found[status] ?? 0) + 1;
  }
  return found;
}
