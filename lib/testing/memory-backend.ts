import { MemoryServer } from '../memory/memory-server.js';
import { MemoryRecords } from '../memory/memory-records.js';
import { MemoryStore } from '../memory/memory-store.js';
import { readJobOptions } from '../gearmonkey/core/wire/job-options.js';
import type { JobKey } from '../gearmonkey/core/wire/protocol.js';
import type { Clock } from '../job/clock.js';
import type { Claim, Outcome, SourceLimit } from '../job/job-source.js';
import type { TestBackend, WaitingJob } from './test-backend.js';

/** Keeps the jobs of a test in this process. */
export class MemoryBackend implements TestBackend {
  readonly store: MemoryStore;
  private readonly server: MemoryServer;
  private readonly limits = new Map<string, SourceLimit | undefined>();

  constructor(
    private readonly clock: Clock,
    maxStalls: number,
  ) {
    // Finished jobs are kept, however far the test moves the clock.
    this.server = new MemoryServer({ maxStalls, keptFor: Infinity });
    this.store = new MemoryStore(this.server, clock);
  }

  async reach(): Promise<void> {}

  async count(fn: string, change: 1 | -1): Promise<void> {
    this.server.function(fn).workers += change;
  }

  async setLimit(fn: string, limit: SourceLimit | undefined): Promise<void> {
    this.limits.set(fn, limit);
    if (limit) this.server.function(fn).limits.declare(limit.rules, this.clock.now());
  }

  async waiting(fn: string): Promise<Iterable<WaitingJob>> {
    return this.server.function(fn).waiting.all(this.clock.now());
  }

  async take(fn: string, id: string): Promise<Claim | undefined> {
    const keyOf = this.limits.get(fn)?.keyOf;
    const [taken] = this.server.function(fn).claim(1, Infinity, this.clock.now(), { only: id, keyOf });
    return taken && { fn, ...taken, options: readJobOptions(taken.options) };
  }

  async settle({ claim: { fn, id, token }, ...outcome }: Outcome): Promise<boolean> {
    const owner = this.server.function(fn);
    const now = this.clock.now();
    switch (outcome.status) {
      case 'success':
        return owner.finish(id, token, 'success', outcome.output, undefined, now);
      case 'error':
        return owner.finish(id, token, 'error', outcome.error.message, outcome.error, now);
      case 'retry':
        return owner.retry(id, token, outcome.error, outcome.delay, now);
      case 'snoozed':
        return owner.snooze(id, token, outcome.delay, now, outcome.waitsFor);
      case 'released':
        return owner.release(id, token, now);
      case 'held':
        return owner.release(id, token, now, outcome.delay);
    }
  }

  get records(): MemoryRecords {
    return new MemoryRecords(this.server, this.clock);
  }

  async progress({ fn, id, token }: Claim, dividend: number, divisor: number): Promise<boolean> {
    return this.server.function(fn).progress(id, token, dividend, divisor);
  }

  async expire({ fn, id, token }: Claim): Promise<void> {
    const owner = this.server.function(fn);
    owner.renew(id, token, 0, 0);
    // A claim for no slots still recovers expired leases.
    owner.claim(0, Infinity, this.clock.now());
  }

  async setAttempts(fn: string, { id }: JobKey, attempts: number): Promise<void> {
    this.server.function(fn).jobs.set(id, { attempts });
  }

  async discard(fn: string, id: string): Promise<void> {
    this.server.function(fn).waiting.remove(id, this.clock.now());
  }

  async forgetUnique(fn: string): Promise<void> {
    this.server.function(fn).unique.clear();
  }

  async close(): Promise<void> {
    await this.store.close();
  }
}
