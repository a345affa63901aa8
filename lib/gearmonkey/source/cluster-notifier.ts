import { slotOf } from '../../redis/cluster-slots.js';
import type { RedisConnection } from '../../redis/redis-connection.js';
import { ownListOf, type KeysOf } from '../wire/protocol.js';
import type { FunctionStates } from './function-states.js';
import { MarkerNotifier } from './marker-notifier.js';
import type { Notifier, NotifierListener } from './notifier.js';

export interface ClusterConnections {
  readonly commands: RedisConnection;
  /** A connection to the node that holds the key. */
  readonly blocking: (key: string) => RedisConnection;
}

/** One notifier for a single server, one per slot for a cluster. */
export function openNotifier(
  {
    commands,
    blocking,
  }: { commands: RedisConnection; blocking: RedisConnection | ((key: string) => RedisConnection) },
  worker: string,
  keysOf: KeysOf,
  states: FunctionStates,
  listener: NotifierListener,
): Notifier {
  return typeof blocking === 'function'
    ? new ClusterNotifier({ commands, blocking }, worker, keysOf, states, listener)
    : new MarkerNotifier({ commands, blocking }, worker, ownListOf(worker), keysOf, states, listener);
}

/**
 * The notifier for a cluster. A blocking call can only name keys of one slot, so each slot with functions of this worker
 * has its own notifier and connection. Functions with the same hash tag share them.
 */
class ClusterNotifier implements Notifier {
  private readonly notifiers = new Map<number, MarkerNotifier>();

  constructor(
    private readonly connections: ClusterConnections,
    private readonly worker: string,
    private readonly keysOf: KeysOf,
    private readonly states: FunctionStates,
    private readonly listener: NotifierListener,
  ) {}

  get isDown(): boolean {
    return [...this.notifiers.values()].some((notifier) => notifier.isDown);
  }

  await(fn: string): void {
    this.of(fn).await(fn);
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

  private of(fn: string): MarkerNotifier {
    const { wake } = this.keysOf(fn);
    const slot = slotOf(wake);
    let notifier = this.notifiers.get(slot);
    if (!notifier) {
      const { commands, blocking } = this.connections;
      const connections = { commands, blocking: blocking(wake) };
      const ownList = ownListOf(this.worker, wake);
      notifier = new MarkerNotifier(
        connections,
        this.worker,
        ownList,
        this.keysOf,
        this.states,
        this.listener,
      );
      this.notifiers.set(slot, notifier);
    }
    return notifier;
  }
}
