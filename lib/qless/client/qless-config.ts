import type { QlessCalls } from './calls.js';
import * as scripts from '../wire/scripts.js';
import { showAs } from '../../job/show-as.js';

/** The configuration that all clients and workers of a qless share, in any language. Times are seconds, as qless stores them. */
export class QlessConfig {
  static {
    showAs(QlessConfig, ({ calls: { connections } }) => ({
      server: connections.commands.address,
      prefix: connections.prefix,
    }));
  }

  /** @internal */
  constructor(private readonly calls: QlessCalls) {}

  /** Returns all options. Defaults are numbers; values that were set are text. */
  all(): Promise<Record<string, string | number>> {
    return this.calls.sendRetrying(scripts.config);
  }

  /** Returns an option, or null if there is no such option. */
  get(option: string): Promise<string | null> {
    return this.calls.sendRetrying(scripts.getConfig, option);
  }

  /** Sets an option for all clients and workers. */
  set(option: string, value: string | number): Promise<void> {
    return this.calls.sendRetrying(scripts.setConfig, option, value);
  }

  /** Sets an option back to its default. */
  unset(option: string): Promise<void> {
    return this.calls.sendRetrying(scripts.unsetConfig, option);
  }
}
