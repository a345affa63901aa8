import { withDeadline } from './clock.js';
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

/** Something with a connection that can be checked. */
export interface Pinged {
  /** The known state, without a request. */
  health(): Health;
  /** Asks the server; connects first if needed. Rejects after `timeout` milliseconds. */
  reach(timeout: number): Promise<unknown>;
}

/** Asks the server and returns the health. Rejects only for an invalid `timeout`. @throws InvalidOptionError */
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
