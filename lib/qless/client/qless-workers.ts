import type { QlessCalls } from './calls.js';
import * as scripts from '../wire/scripts.js';
import { showAs } from '../../job/show-as.js';

/** The workers of a qless. */
export class QlessWorkers {
  static {
    showAs(QlessWorkers, ({ calls: { connections } }) => ({
      server: connections.commands.address,
      prefix: connections.prefix,
    }));
  }

  /** @internal */
  constructor(private readonly calls: QlessCalls) {}

  /** Returns recently active workers, with how many jobs each has locked and lost. */
  list(): Promise<{ name: string; jobs: number; stalled: number }[]> {
    return this.calls.sendRetrying(scripts.workers);
  }

  /** Returns the jids of a worker's locked and lost jobs. */
  get(name: string): Promise<{ jobs: string[]; stalled: string[] }> {
    return this.calls.sendRetrying(scripts.worker, name);
  }

  /** Removes workers from the list; their jobs stay locked. */
  deregister(...names: string[]): Promise<void> {
    return this.calls.sendRetrying(scripts.deregisterWorkers, names);
  }
}
