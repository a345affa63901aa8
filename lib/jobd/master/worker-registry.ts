import { randomInt } from 'node:crypto';
import type { Peer } from '../protocol/peer.js';
import type { RegisteredWorker } from './registered-worker.js';

/** Which workers serve which targets now. A connection has one registration; a later one replaces it. */
export class WorkerRegistry {
  private readonly workers = new Map<Peer, RegisteredWorker>();

  add(worker: RegisteredWorker): void {
    this.workers.set(worker.connection, worker);
  }

  remove(connection: Peer): RegisteredWorker | undefined {
    const worker = this.workers.get(connection);
    this.workers.delete(connection);
    return worker;
  }

  has(connection: Peer): boolean {
    return this.workers.has(connection);
  }

  all(): RegisteredWorker[] {
    return [...this.workers.values()];
  }

  serving(target: string): RegisteredWorker[] {
    return this.all().filter((worker) => worker.targets.has(target));
  }

  anyServing(target: string, except?: ReadonlySet<Peer>): RegisteredWorker | undefined {
    const serving = this.serving(target).filter(({ connection }) => !except?.has(connection));
    return serving.length > 0 ? serving[randomInt(serving.length)] : undefined;
  }
}

/** Groups items by worker, so that each is sent one request. */
export function byWorker<T>(
  pairs: Iterable<readonly [RegisteredWorker, T]>,
): ReadonlyMap<RegisteredWorker, readonly T[]> {
  const groups = new Map<RegisteredWorker, T[]>();
  for (const [worker, item] of pairs) {
    const group = groups.get(worker);
    if (group) group.push(item);
    else groups.set(worker, [item]);
  }
  return groups;
}
