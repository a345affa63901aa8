import type { ClientRig } from '../contract/rig.js';
import { MAX_STALLS, stateOf } from '../contract/rig.js';
import { GearMonkeyClient } from '../../lib/gearmonkey/client.js';
import { MemoryServer } from '../../lib/memory/memory-server.js';
import { MemorySource } from '../../lib/memory/memory-source.js';
import { MemoryStore } from '../../lib/memory/memory-store.js';
import { TimeLeaps } from '../support/time-leaps.js';

const LEASE_MS = 30_000;
/** More than all tests that use one source let pass. */
const LONG_LEASE_MS = 3_600_000;

/** The embedded server of a `describe`. */
export async function memoryRig(): Promise<ClientRig> {
  const server = new MemoryServer({ maxStalls: MAX_STALLS });
  const store = new MemoryStore(server);
  let names = 0;
  return {
    fn: () => `fn-${++names}`,
    source: ({ lease = LEASE_MS } = {}) => new MemorySource(server, { lease }),
    client: (options) => new GearMonkeyClient(new MemoryStore(server), options),
    store: () => new MemoryStore(server),
    deleteHash: async (fn, id) => void server.function(fn).jobs['hashes'].delete(id),
    submit: async (fn, input, placement = { queue: 'normal' }) =>
      server.function(fn).enqueue(input, placement, Date.now()),
    stored: async (fn, id) => stateOf((await store.read(fn, [id]))[0]),
    workers: async (fn) => server.function(fn).workers,
    subscriptions: async (fn) => server.function(fn).listeners.size,
    close: async () => undefined,
  };
}

/** The same, whose time a test can let pass. */
export async function leapingMemoryRig(): Promise<ClientRig> {
  const rig = await memoryRig();
  const leaps = new TimeLeaps();
  return {
    ...rig,
    source: ({ lease = LONG_LEASE_MS } = {}) => rig.source({ lease }),
    pass: async (ms) => leaps.leap(ms),
    close: async () => {
      await rig.close();
      leaps.end();
    },
  };
}
