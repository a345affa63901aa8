import type { QlessCalls } from './calls.js';
import * as scripts from '../wire/scripts.js';
import { showAs } from '../../job/show-as.js';

/** What all clients and workers of a qless share, in any language: times are seconds here, as qless stores them. */
export class QlessConfig {
  static {
    showAs(QlessConfig, ({ calls: { connections } }) => ({
      server: connections.commands.address,
      prefix: connections.prefix,
    }));
  }

  /** @internal */
  constructor(private readonly calls: QlessCalls) {}

  /** Numbers are defaults; what was set is text. */
  all(): Promise<Record<string, string | number>> {
    return this.calls.sendRetrying(scripts.config);
  }

  /** Null where there is no such option. */
  get(option: string): Promise<string | null> {
    return this.calls.sendRetrying(scripts.getConfig, option);
  }

  set(option: string, value: string | number): Promise<void> {
    return this.calls.sendRetrying(scripts.setConfig, option, value);
  }

  /** Back to its default. */
  unset(option: string): Promise<void> {
    return this.calls.sendRetrying(scripts.unsetConfig, option);
  }
}
