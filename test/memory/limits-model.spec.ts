import { describe, it } from '@jest/globals';
import fc from 'fast-check';
import { LimitCounts } from '../../lib/memory/limit-counts.js';
import { mendJobs } from '../../lib/memory/memory-mend.js';
import { MemoryFunction } from '../../lib/memory/memory-function.js';
import type { Claimed, ListName } from '../model/job-model.js';
import { LEASE, MAX_STALLS, type Numbers, type Rules } from '../model/limit-ledger.js';
import {
  checkLimits,
  limitOperations,
  type LimitedOutcome,
  type LimitEngine,
  type NewJob,
} from '../model/limit-operations.js';
import { callers, checkSharedLimit, checkTurns, sharedOperations } from '../model/shared-limit-operations.js';
import { bounds } from '../model/operations.js';

const RUNS = 1000;
const ERROR = { name: 'Error', message: 'no' };

/** One function of the embedded server, called as its source and its store call it. */
class MemoryLimitEngine implements LimitEngine {
  readonly recoversOthers = true;
  private isWoken = false;
  private readonly fn = new MemoryFunction('fn', {
    maxStalls: MAX_STALLS,
    keep: { success: { age: 1e12 }, error: { age: 1e12 } },
    sharedLimit: () => this.shared,
  });

  constructor(private readonly shared = new LimitCounts()) {
    this.fn.sleepers.add(() => {
      this.isWoken = true;
    });
  }

  async isSetAside(now: number, key: string) {
    const turn = this.shared['keys'].get(key)?.turn;
    return (turn?.until(this.fn.limits) ?? 0) > now;
  }

  async isAwake() {
    return this.isWoken;
  }

  async setRules(now: number, rules: Rules) {
    const { isShared, ...others } = rules;
    this.fn.limits.declare({ ...others, ...(isShared && { shared: 'shared' }) }, now);
  }

  async change(now: number, numbers: Numbers | undefined) {
    this.fn.limits.change(numbers, now);
  }

  async enqueue(now: number, { key, queue, due, expires }: NewJob) {
    const placement = {
      queue,
      ...(queue === 'scheduled' && { score: due / 1000 }),
      ...(expires !== undefined && { options: JSON.stringify({ expires }) }),
    };
    return this.fn.enqueue('input', placement, now, key);
  }

  async submit(now: number, key: string, queue: ListName) {
    return this.fn.enqueue(key, { queue }, now);
  }

  recovers(slots: number) {
    return slots > 0;
  }

  async claim(now: number, slots: number, _recover: boolean, outcomes: readonly LimitedOutcome[]) {
    const refused = outcomes.filter((outcome) => !this.settle(now, outcome)).map(({ member }) => member);
    const keyOf = (input: Uint8Array) => Buffer.from(input).toString();
    if (slots > 0) this.isWoken = false;
    const claims: Pick<Claimed, 'id' | 'token'>[] =
      slots > 0 ? this.fn.claim(slots, LEASE, now, { keyOf }) : [];
    // A worker that filled its slots claims again; others were woken when the jobs came.
    if (slots > 0 && claims.length === slots) this.isWoken = true;
    return { refused, claims };
  }

  async cancel(now: number, id: string) {
    return this.fn.cancel(id, { name: 'JobCancelledError', message: 'cancelled' }, now);
  }

  async expire(now: number, id: string) {
    return this.fn.expire(id, now);
  }

  async deleteHash(id: string) {
    this.fn.jobs['hashes'].delete(id);
  }

  async retry(now: number, id: string) {
    const finished = this.fn.jobs.text(id, 'finished');
    const ofNoFlow = { isHeld: () => false, retried: () => undefined };
    return mendJobs(this.fn, 'retry', [{ id, finished }], now, ofNoFlow) === 1;
  }

  async limits(now: number) {
    return this.fn.limits.list({ size: 100 }, now);
  }

  async remains(now: number) {
    this.fn.claim(1, LEASE, now);
    const { keys, keyOf, counts } = this.fn.limits as unknown as Record<string, Map<string, unknown>>;
    const busy = [...(keys ?? [])].filter(([, key]) => !(key as { isIdle: boolean }).isIdle);
    const next = this.fn.limits.nextChange;
    return [
      ...busy.map(([name]) => `key ${name}`),
      ...[...(keyOf?.keys() ?? [])].map((id) => `job ${id}`),
      ...(next === Infinity ? [] : [`something at ${next}`]),
      ...(counts ? [] : ['no counts']),
    ];
  }

  private settle(now: number, { member, ending, wait }: LimitedOutcome): boolean {
    const [id = '', at] = member.split(':');
    const token = Number(at);
    switch (ending) {
      case 'success':
        return this.fn.finish(id, token, 'success', '', undefined, now);
      case 'error':
        return this.fn.finish(id, token, 'error', 'no', ERROR, now);
      case 'snoozed':
        return this.fn.snooze(id, token, wait, now);
      case 'retry':
        return this.fn.retry(id, token, ERROR, wait, now);
      case 'released':
        return this.fn.release(id, token, now);
      case 'held':
        return this.fn.release(id, token, now, wait);
    }
  }
}

describe('Limits of the embedded server', () => {
  it('hold for random actions of workers and clients: none exceeded, none starved, nothing left', async () => {
    const property = fc.asyncProperty(limitOperations, (steps) =>
      checkLimits(new MemoryLimitEngine(), steps),
    );
    await fc.assert(property, bounds(RUNS));
  }, 600_000);

  it('hold for two functions that share one', async () => {
    const property = fc.asyncProperty(sharedOperations, (steps) => {
      const shared = new LimitCounts();
      return checkSharedLimit([new MemoryLimitEngine(shared), new MemoryLimitEngine(shared)], steps);
    });
    await fc.assert(property, bounds(RUNS));
  }, 600_000);

  it('give functions that share one their turns', async () => {
    const property = fc.asyncProperty(callers, (steps) => {
      const shared = new LimitCounts();
      return checkTurns([new MemoryLimitEngine(shared), new MemoryLimitEngine(shared)], steps);
    });
    await fc.assert(property, bounds(RUNS));
  }, 600_000);
});
