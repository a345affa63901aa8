import type { Peer } from './peer.js';

/** Pings a daemon, and closes the connection if nothing arrives from one ping to the next. */
export class Heartbeat {
  private readonly timer: NodeJS.Timeout;
  private pingedAt = Infinity;

  /** `interval` in milliseconds. */
  constructor(
    private readonly connection: Peer,
    interval: number,
  ) {
    // After a stall of this process an answer may be unread: immediates run after reads.
    this.timer = setInterval(() => setImmediate(() => this.beat()), interval).unref();
    void connection.closed.then(() => this.stop());
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private beat(): void {
    if (this.connection.heardAt < this.pingedAt && this.pingedAt !== Infinity) {
      this.connection.destroy('no answer to a ping');
      return;
    }
    this.pingedAt = performance.now();
    this.connection.ping();
  }
}
