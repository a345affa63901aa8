import type { GearMonkeyClient } from '../gearmonkey/client.js';
import type { PriorityRule } from './job-options.js';

/** What a queue gives to its jobs. */
export interface QueueParts {
  /** Also the name of its function. */
  readonly name: string;
  readonly client: GearMonkeyClient;
  readonly priorities?: PriorityRule | undefined;
}
