import { Command, type Cluster, type Redis } from 'ioredis';

/** The slot of a key, 0 to 16383: that of its hash tag, where it has one. */
export function slotOf(key: string): number {
  return Number(new Command('GET', [key]).getSlot());
}

/** The connection to the master that holds `key`, as far as the client knows. */
export function masterOf(cluster: Cluster, key: string): Redis | undefined {
  const [name] = cluster.slots[slotOf(key)] ?? [];
  return cluster.nodes('master').find(({ options }) => `${options.host}:${options.port}` === name);
}

/** Asks the cluster again which node holds which slots. After a failure the next caller asks again. */
export function refreshSlots(cluster: Cluster): Promise<void> {
  return new Promise((resolve) => cluster.refreshSlotsCache(() => resolve()));
}
