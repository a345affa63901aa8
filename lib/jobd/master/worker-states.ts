import { messageOf } from '../../job/errors.js';
import { RequestError } from '../vocabulary/errors.js';
import type { WorkerRegistry } from './worker-registry.js';

/** A registered worker, as the master's `status` lists it. */
export interface ListedWorker {
  readonly remoteAddr?: string;
  readonly remotePort?: number;
  readonly targets: readonly string[];
  readonly name: string;
  /** The worker's reply, without targets if it has none … */
  readonly workerStatus?: unknown;
  /** … and why there is no reply. */
  readonly workerStatusError?: string;
}

const ANSWER_TIMEOUT_MS = 5000;

/** @param ask asks every worker for its own status */
export function listWorkers(registry: WorkerRegistry, ask: boolean): Promise<ListedWorker[]> {
  const list = registry.all().map(async (worker): Promise<ListedWorker> => {
    const { remoteAddress: remoteAddr, remotePort } = worker.connection;
    const listed = { remoteAddr, remotePort, targets: [...worker.targets], name: worker.name };
    if (!ask) return listed;
    try {
      return { ...listed, workerStatus: await worker.request('status', undefined, ANSWER_TIMEOUT_MS) };
    } catch (error) {
      // The original's jobctl reads each worker's targets, and prints nothing at all if one has none.
      return { ...listed, workerStatus: { targets: {} }, workerStatusError: messageOf(error) };
    }
  });
  return Promise.all(list);
}

/**
 * Makes workers pause or continue the named targets, or all.
 *
 * @throws RequestError naming the workers that failed
 */
export async function forward(
  registry: WorkerRegistry,
  type: 'pause' | 'continue',
  targets?: readonly string[],
): Promise<void> {
  const failures = await Promise.all(
    registry.all().map(async (worker) => {
      const served = targets && worker.served(targets);
      if (served?.length === 0) return [];
      try {
        await worker.request(type, served && { targets: served }, ANSWER_TIMEOUT_MS);
        return [];
      } catch (error) {
        return [`worker '${worker.name}': ${messageOf(error)}`];
      }
    }),
  );
  if (failures.flat().length > 0) throw new RequestError(failures.flat().join('; '));
}
