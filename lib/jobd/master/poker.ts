import { messageOf } from '../../job/errors.js';
import type { JobdLog } from '../vocabulary/log.js';
import type { Peer } from '../protocol/peer.js';
import type { RegisteredWorker } from './registered-worker.js';
import { byWorker, type WorkerRegistry } from './worker-registry.js';

/** Limits the memory for targets that no worker serves: any client may name some. */
const MAX_REMEMBERED = 10_000;

export interface PokerOptions {
  /** Polls every worker that serves a target instead of a random one. */
  readonly pollAll: boolean;
  readonly log: JobdLog;
}

/**
 * Makes sure that a worker polls each poked target. If a worker can't, another is asked; a
 * target without a worker is remembered until one registers for it.
 */
export class Poker {
  private readonly remembered = new Set<string>();

  constructor(
    private readonly registry: WorkerRegistry,
    private readonly options: PokerOptions,
  ) {}

  /** How many targets wait for a worker. */
  get waiting(): number {
    return this.remembered.size;
  }

  poke(targets: readonly string[]): void {
    this.pollAny(targets);
  }

  /** For a worker that has just registered. */
  recall(worker: RegisteredWorker): void {
    const targets = worker.served([...this.remembered]);
    for (const target of targets) this.remembered.delete(target);
    if (targets.length > 0) void this.poll(worker, targets);
  }

  /** @param refused workers that were asked already and refused */
  private pollAny(targets: readonly string[], refused?: ReadonlySet<Peer>): void {
    const unserved: string[] = [];
    const pairs = targets.flatMap((target) => {
      const workers = this.pollersOf(target, refused);
      if (workers.length === 0) unserved.push(target);
      return workers.map((worker) => [worker, target] as const);
    });
    if (unserved.length > 0) this.remember(unserved);
    for (const [worker, served] of byWorker(pairs)) void this.poll(worker, served, refused);
  }

  private pollersOf(target: string, refused?: ReadonlySet<Peer>): readonly RegisteredWorker[] {
    if (this.options.pollAll && !refused) return this.registry.serving(target);
    const worker = this.registry.anyServing(target, refused);
    return worker ? [worker] : [];
  }

  private async poll(
    worker: RegisteredWorker,
    targets: readonly string[],
    refused?: ReadonlySet<Peer>,
  ): Promise<void> {
    try {
      await worker.request('poll', { targets });
    } catch (error) {
      this.options.log.warn(`worker '${worker.name}' did not take a poll: ${messageOf(error)}`);
      this.pollAny(targets, new Set([...(refused ?? []), worker.connection]));
    }
  }

  /** Logs one line per request, however many targets it names. */
  private remember(targets: readonly string[]): void {
    for (const target of targets) this.remembered.add(target);
    const excess = [...this.remembered].slice(0, Math.max(0, this.remembered.size - MAX_REMEMBERED));
    for (const oldest of excess) this.remembered.delete(oldest);
    const { log } = this.options;
    const [first = '', ...more] = targets;
    log.debug(`no worker serves '${first}'${more.length > 0 ? ` and ${more.length} more` : ''}: remembered`);
    if (excess.length > 0)
      log.warn(`too many targets without a worker: ${excess.length} are forgotten, '${excess[0]}' for one`);
  }
}
