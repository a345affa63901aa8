import { slotOf } from '../../../redis/cluster-slots.js';
import type { RedisConnection } from '../../../redis/redis-connection.js';
import { ownListOf } from '../wire/protocol.js';
import { MarkerNotifier } from './marker-notifier.js';
import type { Notifier, NotifierParts } from './notifier.js';
import { PollingNotifier } from './polling-notifier.js';

/** One notifier for a single server, one per slot for a cluster. */
export function openNotifier(
  parts: NotifierParts,
  blocking: RedisConnection | ((key: string) => RedisConnection),
): Notifier {
  if (typeof blocking === 'function') return new ClusterNotifier(parts, blocking);
  return singleNotifier(parts, () => blocking, ownListOf(parts.worker));
}

function singleNotifier(parts: NotifierParts, blocking: () => RedisConnection, ownList: string): Notifier {
  const { pollInterval } = parts;
  return pollInterval > 0
    ? new PollingNotifier(parts, pollInterval)
    : new MarkerNotifier(parts, blocking(), ownList);
}

/**
 * The notifier for a cluster. A blocking call can only name keys of one slot, so each slot with functions of this worker
 * has its own notifier and connection. Functions with the same hash tag share them.
 */
class ClusterNotifier implements Notifier {
  private readonly notifiers = new Map<number, Notifier>();

  constructor(
    private readonly parts: NotifierParts,
    /** Makes a connection to the node that holds the key. */
    private readonly blocking: (key: string) => RedisConnection,
  ) {}

  get isDown(): boolean {
    return [...this.notifiers.values()].some((notifier) => notifier.isDown);
  }

  await(fn: string): void {
    this.of(fn).await(fn);
  }

  serve(fn: string): void {
    this.of(fn).serve(fn);
  }

  leave(fn: string): Promise<void> {
    return this.of(fn).leave(fn);
  }

  interrupt(): void {
    for (const notifier of this.notifiers.values()) notifier.interrupt();
  }

  look(fn: string): Promise<void> {
    return this.of(fn).look(fn);
  }

  async close(): Promise<void> {
    await Promise.all([...this.notifiers.values()].map((notifier) => notifier.close()));
  }

  disconnect(): void {
    for (const notifier of this.notifiers.values()) notifier.disconnect();
  }

  private of(fn: string): Notifier {
    const { keysOf, worker } = this.parts;
    const { wake } = keysOf(fn);
    const slot = slotOf(wake);
    let notifier = this.notifiers.get(slot);
    if (!notifier) {
      notifier = singleNotifier(this.parts, () => this.blocking(wake), ownListOf(worker, wake));
      this.notifiers.set(slot, notifier);
    }
    return notifier;
  }
}
