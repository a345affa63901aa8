import { messageOf } from '../job/errors.js';

/** Who is told of outages. */
export interface ConnectionLog {
  warn(message: string): void;
  log?(message: string): void;
}

/** Between two outages that are told, so that a line which breaks every second fills no log. */
const QUIET_MS = 10_000;

/** Says when Redis can't be reached, and why, and when it is back: once each. */
export class OutageLog {
  private since: number | undefined;
  private told = false;
  private quietUntil = -Infinity;
  private untold = 0;

  constructor(
    private readonly log: ConnectionLog,
    private readonly now: () => number = () => performance.now(),
  ) {}

  lost(address: string, reason: unknown): void {
    if (this.since !== undefined) return;
    this.since = this.now();
    this.told = this.since >= this.quietUntil;
    if (!this.told) {
      this.untold += 1;
      return;
    }
    const more = this.untold === 0 ? '' : ` It was lost ${this.untold} times more since that was last said.`;
    this.untold = 0;
    this.quietUntil = this.since + QUIET_MS;
    this.log.warn(
      `Redis at ${address} is not reachable: ${messageOf(reason)}. It is tried until it is.${more}`,
    );
  }

  back(address: string): void {
    if (this.since === undefined) return;
    const seconds = ((this.now() - this.since) / 1000).toFixed(1);
    if (this.told)
      (this.log.log ?? this.log.warn).call(this.log, `Redis at ${address} is back after ${seconds} s.`);
    this.since = undefined;
  }
}
