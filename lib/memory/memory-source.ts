import type { Claim, JobSource, Outcome, Slots } from '../job/job-source.js';
import type { MemoryServer } from './memory-server.js';

const MAX_SLEEP_MS = 60_000;

export interface MemorySourceOptions {
  /** How long a claim holds without being renewed, in ms. @default 8000 */
  lease?: number;
}

/** Jobs of the embedded server. */
export class MemorySource implements JobSource {
  readonly renewInterval: number;
  private readonly lease: number;
  private readonly opened = new Set<string>();

  constructor(
    private readonly server: MemoryServer,
    options: MemorySourceOptions = {},
  ) {
    this.lease = options.lease ?? 8000;
    this.renewInterval = this.lease / 4;
  }

  async open(functions: readonly string[]): Promise<void> {
    for (const fn of functions) {
      if (!this.opened.has(fn)) this.server.function(fn).workers += 1;
      this.opened.add(fn);
    }
  }

  async claim(slots: Slots, signal: AbortSignal): Promise<readonly Claim[]> {
    while (!signal.aborted) {
      const claims = this.claimNow(slots);
      if (claims.length > 0) return claims;
      await this.sleep(slots, signal);
    }
    return [];
  }

  async renew(claims: readonly Claim[]): Promise<readonly Claim[]> {
    return claims.filter(
      ({ fn, id, token }) => !this.server.function(fn).renew(id, token, this.lease, Date.now()),
    );
  }

  async progress({ fn, id, token }: Claim, dividend: number, divisor: number): Promise<boolean> {
    return this.server.function(fn).progress(id, token, dividend, divisor);
  }

  async settle(outcomes: readonly Outcome[]): Promise<readonly Claim[]> {
    return outcomes.filter((outcome) => !this.accept(outcome)).map(({ claim }) => claim);
  }

  async close(): Promise<void> {
    for (const fn of this.opened) this.server.function(fn).workers -= 1;
    this.opened.clear();
  }

  private claimNow(slots: Slots): Claim[] {
    return [...slots].flatMap(([fn, free]) =>
      this.server
        .function(fn)
        .claim(free, this.lease, Date.now())
        .map((taken) => ({ fn, ...taken })),
    );
  }

  private accept({ claim: { fn, id, token }, ...outcome }: Outcome): boolean {
    const owner = this.server.function(fn);
    const now = Date.now();
    if (outcome.status === 'released') return owner.release(id, token);
    if (outcome.status === 'success')
      return owner.finish(id, token, 'success', outcome.output, undefined, now);
    return owner.finish(id, token, 'error', outcome.error.message, outcome.error, now);
  }

  /** Until a job is enqueued or given back, one falls due, or a lease ends. */
  private sleep(slots: Slots, signal: AbortSignal): Promise<void> {
    const functions = [...slots.keys()].map((fn) => this.server.function(fn));
    const wait = Math.min(...functions.map((fn) => fn.outlook(Date.now())), MAX_SLEEP_MS);
    return new Promise((resolve) => {
      const wakeUp = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', wakeUp);
        for (const { sleepers } of functions) sleepers.delete(wakeUp);
        resolve();
      };
      const timer = setTimeout(wakeUp, wait);
      signal.addEventListener('abort', wakeUp, { once: true });
      for (const { sleepers } of functions) sleepers.add(wakeUp);
    });
  }
}
