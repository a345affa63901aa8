import type { Duration } from '../job/duration.js';
import { ping, type Health } from '../job/health.js';
import type { JobSource } from '../job/job-source.js';

/** What is known, without a request. A source in this process is always connected. */
export function healthOf(source: JobSource): Health {
  return source.monitor?.health() ?? { connected: true };
}

/** Asks its server, and connects first if needed. @throws InvalidOptionError */
export function pingSource(source: JobSource, timeout: Duration): Promise<Health> {
  return ping({ health: () => healthOf(source), reach: async (ms) => source.monitor?.reach(ms) }, timeout);
}
