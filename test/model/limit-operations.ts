import { expect } from '@jest/globals';
import fc from 'fast-check';
import type { LimitState } from '../../lib/job/limit.js';
import type { Claimed, ListName, QueueName } from './job-model.js';
import { LEASE, LimitLedger, type LimitedEnding, type Numbers, type Rules } from './limit-ledger.js';

export interface LimitedOutcome {
  readonly member: string;
  readonly ending: LimitedEnding;
  readonly wait: number;
}

/** What is tested: one function with a limit. */
export interface LimitEngine {
  /** A worker starts. */
  setRules(now: number, rules: Rules): Promise<void>;
  change(now: number, numbers: Numbers | undefined): Promise<void>;
  enqueue(now: number, job: NewJob): Promise<string>;
  /** Creates a job as a plain client does; its input is its key. */
  submit(now: number, key: string, list: ListName): Promise<string>;
  /** Settles, and claims jobs until there are none or no slot is left. Jobs without a key get theirs. */
  claim(
    now: number,
    slots: number,
    recover: boolean,
    outcomes: readonly LimitedOutcome[],
  ): Promise<{ refused: readonly string[]; claims: readonly Pick<Claimed, 'id' | 'token'>[] }>;
  /** Whether a call like this gives expired jobs back. */
  recovers(slots: number, recover: boolean): boolean;
  /** Whether a shared limit sets a key aside for another function than this one. */
  isSetAside(now: number, key: string): Promise<boolean>;
  /** Whether a claim also gives back expired jobs of other functions with the same limit. */
  readonly recoversOthers: boolean;
  /** Whether a worker that waits was woken since a claim asked for jobs; absent where that is not kept. */
  isAwake?(): Promise<boolean>;
  cancel(now: number, id: string): Promise<string>;
  expire(now: number, id: string): Promise<number>;
  deleteHash(id: string): Promise<void>;
  /** An operator retries a job. Returns whether it waits again. */
  retry(now: number, id: string): Promise<boolean>;
  /** Ids that stand in two places; absent where a job has one place. */
  twice?(): Promise<string[]>;
  limits(now: number): Promise<LimitState[]>;
  /** What is kept of the limit though no job is left, a line each. */
  remains(now: number): Promise<string[]>;
}

export interface NewJob {
  readonly key: string;
  readonly queue: QueueName;
  readonly due: number;
  readonly expires: number | undefined;
}

interface PickedOutcome {
  readonly pick: number;
  readonly ending: LimitedEnding;
  readonly wait: number;
}

export type LimitOperation =
  | { readonly do: 'rules'; readonly rules: Rules }
  | { readonly do: 'change'; readonly numbers: Numbers | undefined }
  | {
      readonly do: 'enqueue';
      readonly key: string;
      readonly queue: QueueName;
      readonly delay: number;
      readonly lives: number | undefined;
      readonly count: number;
    }
  | { readonly do: 'submit'; readonly key: string; readonly list: ListName }
  | {
      readonly do: 'claim';
      readonly slots: number;
      readonly recover: boolean;
      readonly outcomes: readonly PickedOutcome[];
    }
  | { readonly do: 'cancel' | 'expire' | 'delete' | 'retry'; readonly pick: number }
  | { readonly do: 'pass'; readonly ms: number };

/** How many rounds the rest of the jobs get in which to end. */
const ROUNDS = 400;

const key = fc.constantFrom('a', 'b', 'c');
const queue = fc.constantFrom<QueueName>('normal', 'normal', 'high', 'low', 'scheduled');
/** Spans that often end at the same moment, or a millisecond beside it. */
export const span = fc.oneof(fc.nat(LEASE), fc.constantFrom(0, 1, 9_999, 10_000, 10_001, 20_000, LEASE));
const per = fc.oneof(fc.integer({ min: 1, max: 2 * LEASE }), fc.constantFrom(9_999, 10_000, 20_000));
const rate = fc.record({ max: fc.integer({ min: 1, max: 3 }), per });
const concurrency = fc.integer({ min: 1, max: 3 });
export const numbers = fc.oneof(
  fc.record({ concurrency }),
  fc.record({ rate }),
  fc.record({ concurrency, rate }),
) as fc.Arbitrary<Numbers>;
const rules = fc.oneof(
  { weight: 3, arbitrary: numbers.map((given): Rules => ({ order: 'fair', ...given })) },
  { weight: 1, arbitrary: numbers.map((given): Rules => ({ order: 'fair', isShared: true, ...given })) },
  { weight: 2, arbitrary: fc.constant<Rules>({ order: 'strict' }) },
  { weight: 1, arbitrary: rate.map((given): Rules => ({ order: 'strict', rate: given })) },
);
export const ending = fc.constantFrom<LimitedEnding>(
  ...(['success', 'success', 'error', 'retry', 'snoozed', 'released', 'held'] as const),
);
/** Which of the claims there were, counted from the last. */
const pick = fc.nat(7);
const outcome = fc.record({ pick, ending, wait: span });
const operation: fc.Arbitrary<LimitOperation> = fc.oneof(
  { weight: 1, arbitrary: fc.record({ do: fc.constant('rules' as const), rules }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('change' as const),
      numbers: fc.option(numbers, { nil: undefined }),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('enqueue' as const),
      key,
      queue,
      delay: span,
      lives: fc.option(span, { nil: undefined, freq: 4 }),
      count: fc.integer({ min: 1, max: 3 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('submit' as const),
      key,
      list: fc.constantFrom<ListName>('normal', 'high', 'low'),
    }),
  },
  {
    weight: 10,
    arbitrary: fc.record({
      do: fc.constant('claim' as const),
      slots: fc.nat(6),
      recover: fc.boolean(),
      outcomes: fc.array(outcome, { maxLength: 4 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('cancel' as const), pick: fc.nat(9) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('expire' as const), pick: fc.nat(9) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('delete' as const), pick: fc.nat(9) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('retry' as const), pick: fc.nat(9) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('pass' as const), ms: span }) },
);

/** What workers and clients do to a function with a limit, in any order. */
export const limitOperations = fc.record({
  rules,
  steps: fc.array(operation, { minLength: 1, maxLength: 60 }),
});

/** Does all of it, checks each step, and lets what is left come to its end. */
export async function checkLimits(
  engine: LimitEngine,
  { rules: first, steps }: { readonly rules: Rules; readonly steps: readonly LimitOperation[] },
): Promise<void> {
  const run = new LimitRun(engine, first);
  await engine.setRules(run.now, first);
  for (const step of steps) await run.perform(step);
  await run.finish();
}

class LimitRun {
  private readonly ledger: LimitLedger;
  private readonly members: string[] = [];
  private isReadyByTime = false;

  constructor(
    private readonly engine: LimitEngine,
    rules_: Rules,
  ) {
    this.ledger = new LimitLedger(rules_);
  }

  get now(): number {
    return this.ledger.now;
  }

  async perform(step: LimitOperation): Promise<void> {
    await this.act(step);
    expect(this.ledger.compare(await this.engine.limits(this.now))).toEqual([]);
    expect((await this.engine.twice?.()) ?? []).toEqual([]);
    await this.checkWake(step);
  }

  /** Every job that is left can end, and then nothing is left of the limit. */
  async finish(): Promise<void> {
    for (let round = 0; this.ledger.unfinished.length > 0 && round < ROUNDS; round++) {
      await this.perform({ do: 'pass', ms: 3 * LEASE });
      const outcomes = Array.from({ length: 20 }, (_, from) => ({
        pick: from,
        ending: 'success' as const,
        wait: 0,
      }));
      await this.perform({ do: 'claim', slots: 20, recover: true, outcomes });
    }
    expect(this.ledger.unfinished).toEqual([]);
    for (let round = 0; round < 3; round++) {
      await this.perform({ do: 'pass', ms: 3 * LEASE });
      await this.perform({ do: 'claim', slots: 20, recover: true, outcomes: [] });
    }
    await expect(this.engine.limits(this.now)).resolves.toEqual([]);
    await expect(this.engine.remains(this.now)).resolves.toEqual([]);
  }

  /** A job that may start because of what an operator did wakes a worker; workers know by themselves when time has passed. */
  private async checkWake(step: LimitOperation): Promise<void> {
    const isReady = this.ledger.isReady(false);
    if (step.do === 'claim' && step.slots > 0) this.isReadyByTime = false;
    if (step.do === 'pass' && (isReady || this.ledger.mayOpen)) this.isReadyByTime = true;
    if (step.do === 'delete' && isReady) this.isReadyByTime = true;
    if (this.isReadyByTime || !this.ledger.isReady(true)) return;
    expect((await this.engine.isAwake?.()) ?? true).toBe(true);
  }

  private async act(step: LimitOperation): Promise<void> {
    const { engine, ledger, now } = this;
    switch (step.do) {
      case 'pass':
        return ledger.pass(step.ms);
      case 'rules':
        ledger.setRules(step.rules);
        return engine.setRules(now, step.rules);
      case 'change':
        ledger.change(step.numbers);
        return engine.change(now, step.numbers);
      case 'enqueue':
        for (let i = 0; i < step.count; i++) await this.enqueue(step);
        return;
      case 'submit': {
        const id = await engine.submit(now, step.key, step.list);
        const { key: name, list } = step;
        return ledger.add(id, {
          key: name,
          list,
          isFiled: false,
          isInOrder: false,
          expires: undefined,
          due: 0,
        });
      }
      case 'claim':
        return this.claim(step);
      case 'cancel': {
        const id = this.id(step.pick);
        if (id === undefined) return;
        const must = ledger.cancel(id);
        const done = await engine.cancel(now, id);
        if (must !== undefined) expect([id, done === 'cancelled' || !must]).toEqual([id, true]);
        return;
      }
      case 'expire': {
        const id = this.id(step.pick);
        if (id !== undefined) await engine.expire(now, id);
        return;
      }
      case 'retry': {
        const id = this.id(step.pick);
        if (id !== undefined) expect(ledger.retry(id, await engine.retry(now, id))).toEqual([]);
        return;
      }
      case 'delete': {
        const id = this.id(step.pick);
        if (id === undefined) return;
        ledger.delete(id);
        return engine.deleteHash(id);
      }
    }
  }

  private async enqueue(step: Extract<LimitOperation, { do: 'enqueue' }>): Promise<void> {
    const { now, ledger } = this;
    // Functions with a strict order have no priorities.
    const isStrict = ledger.rules.order === 'strict';
    const wanted = isStrict && step.queue !== 'scheduled' ? 'normal' : step.queue;
    const isScheduled = wanted === 'scheduled';
    const due = isScheduled ? now + step.delay : 0;
    const expires = step.lives === undefined ? undefined : now + step.lives;
    const id = await this.engine.enqueue(now, { key: step.key, queue: wanted, due, expires });
    const list = wanted === 'scheduled' ? 'normal' : wanted;
    ledger.add(id, { key: step.key, list, isFiled: true, isInOrder: !isScheduled, expires, due });
  }

  private async claim({ slots, recover, outcomes }: Extract<LimitOperation, { do: 'claim' }>): Promise<void> {
    const { ledger, now } = this;
    const given = outcomes.flatMap(({ pick: from, ending: how, wait }) => {
      const member = this.members.at(-1 - from);
      return member === undefined ? [] : [{ member, ending: how, wait }];
    });
    const accepted = given.map(({ member, ending: how, wait }) => ledger.settle(member, how, wait));
    if (this.engine.recovers(slots, recover)) ledger.recover();
    const { refused, claims } = await this.engine.claim(now, slots, recover, given);
    for (const [index, { member }] of given.entries()) {
      // The reply names claims: of one that was settled twice in this call it does not tell which was refused.
      const isOnce = given.filter((other) => other.member === member).length === 1;
      const must = isOnce ? accepted[index] : undefined;
      if (must !== undefined) expect([member, !refused.includes(member)]).toEqual([member, must]);
    }
    if (slots > 0) expect(ledger.claim(slots, claims)).toEqual([]);
    this.members.push(...claims.map(({ id, token }) => `${id}:${token}`));
  }

  private id(from: number): string | undefined {
    const { ids } = this.ledger;
    return ids[from % Math.max(1, ids.length)];
  }
}
