import { setTimeout as delay } from 'node:timers/promises';
import { withDeadline } from '../../job/clock.js';
import { PeerLostError } from '../vocabulary/errors.js';
import type { Peer } from '../protocol/peer.js';

/** Original workers listen to requests only when they have read the `ok` of their registration. */
const SETTLE_MS = 75;

/** A worker that has registered, until its connection ends. */
export class RegisteredWorker {
  private readonly settled = delay(SETTLE_MS, undefined, { ref: false });

  constructor(
    readonly connection: Peer,
    readonly name: string,
    readonly targets: ReadonlySet<string>,
  ) {}

  /** Returns the `targets` that it serves. */
  served(targets: readonly string[]): string[] {
    return targets.filter((target) => this.targets.has(target));
  }

  /** @throws RequestError, PeerLostError; `timeout` in milliseconds */
  async request(type: string, data?: unknown, timeout = Infinity): Promise<unknown> {
    await this.settled;
    const late = () => new PeerLostError(`no answer within ${timeout / 1000} s`);
    return withDeadline(this.connection.request(type, data), timeout, late);
  }
}
