import { afterEach, beforeEach } from '@jest/globals';
import { keysOf } from '../../lib/gearmonkey/core/wire/protocol.js';
import type { GearMonkeyClient } from '../../lib/gearmonkey/client.js';
import type { ClientRig } from '../contract/rig.js';
import { stopWorkers } from '../support/run-worker.js';
import { memoryRig } from './embedded-rig.js';

/** What a `describe` on jobs in memory works with. */
class MemoryRig {
  private made: { rig: Awaited<ReturnType<typeof memoryRig>>; client: GearMonkeyClient } | undefined;

  constructor() {
    beforeEach(async () => {
      const rig = await memoryRig();
      this.made = { rig, client: rig.client() };
    });
    afterEach(stopWorkers);
  }

  get client(): GearMonkeyClient {
    return this.current().client;
  }

  source(...args: Parameters<ClientRig['source']>): ReturnType<ClientRig['source']> {
    return this.current().rig.source(...args);
  }

  newClient(...args: Parameters<ClientRig['client']>): GearMonkeyClient {
    return this.current().rig.client(...args);
  }

  submit(...args: Parameters<ClientRig['submit']>): ReturnType<ClientRig['submit']> {
    return this.current().rig.submit(...args);
  }

  stored(...args: Parameters<ClientRig['stored']>): ReturnType<ClientRig['stored']> {
    return this.current().rig.stored(...args);
  }

  workers(fn: string): Promise<number> {
    return this.current().rig.workers(fn);
  }

  /** As if those who run jobs of the function had died long ago. */
  async endLeases(fn: string): Promise<void> {
    const { redis } = this.current().rig;
    const { leases } = keysOf(fn);
    for (const member of await redis.zrange(leases, '0', '-1')) await redis.zadd(leases, 1, member);
  }

  private current() {
    if (!this.made) throw new Error('useMemory() starts in beforeEach: use it inside a test or hook.');
    return this.made;
  }
}

/** For a `describe`: new jobs in memory and a client for each test, after which its workers stop. */
export function useMemory(): MemoryRig {
  return new MemoryRig();
}
