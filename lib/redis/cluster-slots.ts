import { Command, type Cluster, type Redis } from 'ioredis';

/** The slot of a key, 0 to 16383; a hash tag decides if there is one. */
export function slotOf(key: string): number {
  return Number(new Command('GET', [key]).getSlot());
}

/** The connection to the master that holds `key`, according to the client's slot table. */
export function masterOf(cluster: Cluster, key: string): Redis | undefined {
  const [name] = cluster.slots[slotOf(key)] ?? [];
  return cluster.nodes('master').find(({ options }) => `${options.host}:${options.port}` === name);
}

/** Reloads the table of slots from the cluster. After a failure the next caller tries again. */
export function refreshSlots(cluster: Cluster): Promise<void> {
  return new Promise((resolve) => cluster.refreshSlotsCache(() => resolve()));
}
