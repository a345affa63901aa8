import { afterEach, beforeEach } from '@jest/globals';
import type { GearMonkeyClient } from '../../lib/gearmonkey/client.js';
import type { ClientRig } from '../contract/rig.js';
import { stopWorkers } from '../support/run-worker.js';
import { memoryRig } from './memory-rig.js';

/** What a `describe` on jobs in memory works with. */
class MemoryRig {
  private made: { rig: ClientRig; client: GearMonkeyClient } | undefined;

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

  private current() {
    if (!this.made) throw new Error('useMemory() starts in beforeEach: use it inside a test or hook.');
    return this.made;
  }
}

/** For a `describe`: new jobs in memory and a client for each test, after which its workers stop. */
export function useMemory(): MemoryRig {
  return new MemoryRig();
}
