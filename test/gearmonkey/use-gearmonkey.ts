import { afterAll, afterEach, beforeAll, expect } from '@jest/globals';
import type { GearMonkeyClient } from '../../lib/gearmonkey/client.js';
import type { Redis } from 'ioredis';
import { stopWorkers } from '../support/run-worker.js';
import { useRedis, type UsedRedis } from '../support/use-redis.js';
import { RedisActors } from './redis-rig.js';

/** What a `describe` on GearMonkey's protocol works with. */
class GearMonkeyRig<Server extends UsedRedis> {
  private made: { actors: RedisActors; client: GearMonkeyClient } | undefined;

  constructor(private readonly used: Server) {
    beforeAll(() => {
      const actors = new RedisActors(this.used.url);
      this.made = { actors, client: actors.client() };
    });
    afterEach(stopWorkers);
    afterEach(() => expect(this.current().actors.illegal).toEqual([]));
    afterAll(() => this.made?.actors.close());
  }

  /** As it was given. */
  get on(): Server {
    return this.used;
  }

  get port(): number {
    return this.used.port;
  }

  get url(): string {
    return this.used.url;
  }

  /** A plain connection to the server. */
  get redis(): Redis {
    return this.used.redis;
  }

  /** One client for all tests. */
  get client(): GearMonkeyClient {
    return this.current().client;
  }

  /** A function name that no other call has returned. */
  fn(name?: string): string {
    return this.used.fn(name);
  }

  source(...args: Parameters<RedisActors['source']>): ReturnType<RedisActors['source']> {
    return this.current().actors.source(...args);
  }

  newClient(...args: Parameters<RedisActors['client']>): GearMonkeyClient {
    return this.current().actors.client(...args);
  }

  private current() {
    if (!this.made) throw new Error('useGearMonkey() starts in beforeAll: use it inside a test or hook.');
    return this.made;
  }
}

/** For a `describe`: a server, a client and sources on it. Workers stop after each test, the rest at the end. */
export function useGearMonkey(): GearMonkeyRig<UsedRedis>;
export function useGearMonkey<Server extends UsedRedis>(server: Server): GearMonkeyRig<Server>;
export function useGearMonkey(server: UsedRedis = useRedis()): GearMonkeyRig<UsedRedis> {
  return new GearMonkeyRig(server);
}
