import type { QlessCalls } from './calls.js';
import * as scripts from '../wire/scripts.js';
import { showAs } from '../../job/show-as.js';

/** Workers by their name. */
export class QlessWorkers {
  static {
    showAs(QlessWorkers, ({ calls: { connections } }) => ({
      server: connections.commands.address,
      prefix: connections.prefix,
    }));
  }

  /** @internal */
  constructor(private readonly calls: QlessCalls) {}

  /** Those that were seen of late, with how many jobs they have locked and lost. */
  list(): Promise<{ name: string; jobs: number; stalled: number }[]> {
    return this.calls.sendRetrying(scripts.workers);
  }

  /** Jids. */
  get(name: string): Promise<{ jobs: string[]; stalled: string[] }> {
    return this.calls.sendRetrying(scripts.worker, name);
  }

  /** Takes workers off the list; what they have locked stays locked. */
  deregister(...names: string[]): Promise<void> {
    return this.calls.sendRetrying(scripts.deregisterWorkers, names);
  }
}
