import { slotOf } from '../../redis/cluster-slots.js';
import type { RedisConnection } from '../../redis/redis-connection.js';
import { ownListOf, type KeysOf } from '../wire/protocol.js';
import { Waker, type WakerListener, type WorkSignal } from './waker.js';

export interface ClusterWakerConnections {
  readonly commands: RedisConnection;
  /** A connection to whoever holds the key. */
  readonly blocking: (key: string) => RedisConnection;
}

/** Of one server, whose functions wait together, or of a cluster. */
export function openWaker(
  {
    commands,
    blocking,
  }: { commands: RedisConnection; blocking: RedisConnection | ((key: string) => RedisConnection) },
  worker: string,
  keysOf: KeysOf,
  listener: WakerListener,
): WorkSignal {
  return typeof blocking === 'function'
    ? new ClusterWaker({ commands, blocking }, worker, keysOf, listener)
    : new Waker({ commands, blocking }, worker, ownListOf(worker), keysOf, listener);
}

/**
 * Tells which idle function may have work, on a cluster. A blocking call names keys of one slot, so each
 * slot with functions of this worker has a waker and a connection of its own; functions that share a hash
 * tag share them.
 */
export class ClusterWaker implements WorkSignal {
  private readonly wakers = new Map<number, Waker>();

  constructor(
    private readonly connections: ClusterWakerConnections,
    private readonly worker: string,
    private readonly keysOf: KeysOf,
    private readonly listener: WakerListener,
  ) {}

  get isDown(): boolean {
    return [...this.wakers.values()].some((waker) => waker.isDown);
  }

  sleep(fn: string, wait: number): void {
    this.of(fn).sleep(fn, wait);
  }

  awake(fn: string): void {
    this.of(fn).awake(fn);
  }

  rest(): void {
    for (const waker of this.wakers.values()) waker.rest();
  }

  look(fn: string): Promise<void> {
    return this.of(fn).look(fn);
  }

  async close(): Promise<void> {
    await Promise.all([...this.wakers.values()].map((waker) => waker.close()));
  }

  disconnect(): void {
    for (const waker of this.wakers.values()) waker.disconnect();
  }

  private of(fn: string): Waker {
    const { wake } = this.keysOf(fn);
    const slot = slotOf(wake);
    let waker = this.wakers.get(slot);
    if (!waker) {
      const { commands, blocking } = this.connections;
      const connections = { commands, blocking: blocking(wake) };
      waker = new Waker(connections, this.worker, ownListOf(this.worker, wake), this.keysOf, this.listener);
      this.wakers.set(slot, waker);
    }
    return waker;
  }
}
