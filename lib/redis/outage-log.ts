import { reasonOf } from '../job/error-info.js';

/** Where outages are logged. */
export interface ConnectionLog {
  warn(message: string): void;
  log?(message: string): void;
  debug?(message: string): void;
}

/** Shortest time between two logged outages: a connection that breaks every second must not fill the log. */
const QUIET_MS = 10_000;

/** Logs when Redis becomes unreachable, and why, and when it is back: one line each. */
export class OutageLog {
  private since: number | undefined;
  private idleSince: number | undefined;
  private told = false;
  private quietUntil = -Infinity;
  private untold = 0;

  constructor(
    private readonly log: ConnectionLog,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** An idle line has been closed. It is no outage if the first attempt brings it back. */
  idle(): void {
    this.idleSince ??= this.now();
  }

  lost(address: string, reason: unknown): void {
    if (this.since !== undefined) return;
    this.since = this.idleSince ?? this.now();
    this.idleSince = undefined;
    this.told = this.since >= this.quietUntil;
    if (!this.told) {
      this.untold += 1;
      return;
    }
    const more =
      this.untold === 0 ? '' : ` The connection was lost ${this.untold} more times since the last such line.`;
    this.untold = 0;
    this.quietUntil = this.since + QUIET_MS;
    this.log.warn(`Redis at ${address} is not reachable: ${reasonOf(reason)}. Reconnecting.${more}`);
  }

  back(address: string): void {
    if (this.idleSince !== undefined)
      this.log.debug?.(`An idle connection to Redis at ${address} was closed, and is open again.`);
    this.idleSince = undefined;
    if (this.since === undefined) return;
    const seconds = ((this.now() - this.since) / 1000).toFixed(1);
    if (this.told)
      (this.log.log ?? this.log.warn).call(this.log, `Redis at ${address} is back after ${seconds} s.`);
    this.since = undefined;
  }
}
