import type { GivenHeaders } from '../../job/headers.js';
import type { PayloadOptions } from './known-functions.js';

/** Options of a client. */
export interface ClientOptions extends PayloadOptions {
  /**
   * Asked at each enqueue for headers that every job gets, such as a tenant or a correlation id from an
   * AsyncLocalStorage. What it throws rejects the enqueue.
   */
  headers?: () => GivenHeaders | undefined;
}
