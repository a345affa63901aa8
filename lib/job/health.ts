import { withDeadline } from './deadline.js';
import { toMilliseconds, type Duration } from './duration.js';
import { messageOf } from './errors.js';
import { ConnectionError } from './server-errors.js';

/** The health of a worker, an instance or a program that needs a server, for operators. */
export interface Health {
  /** Whether the server answered the last request. */
  readonly connected: boolean;
  /** Its address, without user and password. */
  readonly server?: string;
  /** When it last answered a worker. */
  readonly lastReplyAt?: Date;
  /** Why it is not connected. */
  readonly problem?: string;
  /** Which thread renews leases. In the main thread, a handler that blocks the event loop loses its job. */
  readonly leasesKeptBy?: 'thread' | 'main thread';
}

/** What can be asked whether it answers. */
export interface Pinged {
  /** What is known of it. */
  health(): Health;
  /** Connects if nothing has yet, and asks. Rejects after `timeout` milliseconds. */
  reach(timeout: number): Promise<unknown>;
}

/** Asks, and tells how that went. Rejects for a bad `timeout` only. @throws InvalidOptionError */
export async function ping(pinged: Pinged, timeout: Duration): Promise<Health> {
  const limit = toMilliseconds('timeout', timeout);
  const late = () => new ConnectionError('The server did not answer', `not within ${limit} ms`);
  try {
    await withDeadline(pinged.reach(limit), limit, late);
    return pinged.health();
  } catch (error) {
    return { ...pinged.health(), connected: false, problem: messageOf(error) };
  }
}
