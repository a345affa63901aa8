import type { ClientTls } from './connect.js';

/** Where a worker's master is. */
export interface MasterAddress {
  readonly host: string;
  readonly port: number;
  /** Of the master's instance. @default the worker's own */
  readonly password?: string;
  readonly tls?: ClientTls;
  /** Seconds. @default 10 */
  readonly reconnectTimeout?: number;
  /** Seconds. @default 30 */
  readonly pingInterval?: number;
}
