import { expect } from '@jest/globals';
import fc from 'fast-check';
import type { QueueName } from './job-model.js';
import { LEASE, MAX_STALLS, type LimitedEnding, type Numbers } from './limit-ledger.js';
import { ending, numbers, span, type LimitEngine } from './limit-operations.js';

/** Two functions that share a limit. */
export type TwoEngines = readonly [LimitEngine, LimitEngine];

type Fn = 0 | 1;

interface PickedOutcome {
  readonly pick: number;
  readonly ending: LimitedEnding;
  readonly wait: number;
}

export type SharedOperation =
  | { readonly do: 'change'; readonly fn: Fn; readonly numbers: Numbers | undefined }
  | {
      readonly do: 'enqueue';
      readonly fn: Fn;
      readonly key: string;
      readonly queue: QueueName;
      readonly count: number;
    }
  | {
      readonly do: 'claim';
      readonly fn: Fn;
      readonly slots: number;
      readonly recover: boolean;
      readonly outcomes: readonly PickedOutcome[];
    }
  | { readonly do: 'cancel'; readonly pick: number }
  | { readonly do: 'pass'; readonly ms: number };

interface Job {
  readonly fn: Fn;
  readonly id: string;
  readonly key: string;
  state: 'waiting' | 'running' | 'ended';
  due: number;
  token: number;
  leaseEnd: number;
  stalls: number;
}

const ROUNDS = 400;
const FUNCTIONS = [0, 1] as const;

const fn = fc.constantFrom<Fn>(0, 1);
const outcome = fc.record({ pick: fc.nat(7), ending, wait: span });
const operation: fc.Arbitrary<SharedOperation> = fc.oneof(
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('change' as const),
      fn,
      numbers: fc.option(numbers, { nil: undefined }),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('enqueue' as const),
      fn,
      key: fc.constantFrom('a', 'b'),
      queue: fc.constantFrom<QueueName>('normal', 'normal', 'high', 'low', 'scheduled'),
      count: fc.integer({ min: 1, max: 3 }),
    }),
  },
  {
    weight: 10,
    arbitrary: fc.record({
      do: fc.constant('claim' as const),
      fn,
      slots: fc.nat(5),
      recover: fc.boolean(),
      outcomes: fc.array(outcome, { maxLength: 4 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('cancel' as const), pick: fc.nat(9) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('pass' as const), ms: span }) },
);

/** What workers and clients do to two functions with one limit, in any order. */
export const sharedOperations = fc.record({
  numbers,
  steps: fc.array(operation, { minLength: 1, maxLength: 60 }),
});

/** Does all of it, checks each step, and lets what is left come to its end. */
export async function checkSharedLimit(
  engines: TwoEngines,
  { numbers: first, steps }: { readonly numbers: Numbers; readonly steps: readonly SharedOperation[] },
): Promise<void> {
  const run = new SharedRun(engines, first);
  for (const engine of engines) await engine.setRules(run.now, { order: 'fair', isShared: true, ...first });
  for (const step of steps) await run.perform(step);
  await run.finish();
}

/** Which function's worker calls next, again and again. */
export const callers = fc.record({
  concurrency: fc.integer({ min: 1, max: 3 }),
  calls: fc.array(fn, { minLength: 10, maxLength: 80 }),
});

/** Two functions with more jobs of one key than they may start: who has asked without success starts the next. */
export async function checkTurns(
  engines: TwoEngines,
  { concurrency, calls }: { readonly concurrency: number; readonly calls: readonly Fn[] },
): Promise<void> {
  const now = 1_000_000;
  for (const engine of engines) await engine.setRules(now, { order: 'fair', isShared: true, concurrency });
  for (const engine of engines)
    for (let i = 0; i < calls.length; i++)
      await engine.enqueue(now, { key: 'a', queue: 'normal', due: 0, expires: undefined });
  const held: [string[], string[]] = [[], []];
  /** Starts of the other function since one has asked without success. */
  const passedOver = [-1, -1];
  for (const one of calls) {
    const other = one === 0 ? 1 : 0;
    const outcomes = held[one].map((member) => ({ member, ending: 'success' as const, wait: 0 }));
    const { claims } = await engines[one].claim(now, 1, false, outcomes);
    held[one] = claims.map(({ id, token }) => `${id}:${token}`);
    passedOver[one] = claims.length > 0 ? -1 : Math.max(0, passedOver[one] ?? 0);
    if (claims.length > 0 && passedOver[other] !== -1) passedOver[other] = (passedOver[other] ?? 0) + 1;
    expect(Math.max(...passedOver)).toBeLessThanOrEqual(concurrency);
  }
}

class SharedRun {
  now = 1_000_000;
  private changed: Numbers | undefined;
  private changedAt = 0;
  private tick = 0;
  private readonly jobs: Job[] = [];
  private readonly starts: { readonly key: string; readonly at: number; readonly tick: number }[] = [];
  private readonly heldUntil = new Map<string, number>();
  private readonly members: { readonly job: Job; readonly token: number }[] = [];
  /** Whether jobs of a function may be ready since time has passed, which workers know by themselves. */
  private readonly isReadyByTime = [false, false];

  constructor(
    private readonly engines: TwoEngines,
    private readonly first: Numbers,
  ) {}

  async perform(step: SharedOperation): Promise<void> {
    this.tick += 1;
    await this.act(step);
    for (const one of FUNCTIONS) {
      expect(await this.miscounted(one)).toEqual([]);
      if (step.do === 'pass') this.isReadyByTime[one] = true;
      if (this.isReadyByTime[one] || (await this.mustStart(one)).every(({ due }) => due > 0)) continue;
      expect([one, (await this.engines[one].isAwake?.()) ?? true]).toEqual([one, true]);
    }
  }

  async finish(): Promise<void> {
    const unfinished = () => this.jobs.filter(({ state }) => state !== 'ended').map(({ id }) => id);
    const outcomes = Array.from({ length: 20 }, (_, pick) => ({ pick, ending: 'success' as const, wait: 0 }));
    for (let round = 0; round < 3 || (unfinished().length > 0 && round < ROUNDS); round++) {
      await this.perform({ do: 'pass', ms: 3 * LEASE });
      for (const one of FUNCTIONS)
        await this.perform({ do: 'claim', fn: one, slots: 20, recover: true, outcomes });
    }
    expect(unfinished()).toEqual([]);
    await this.perform({ do: 'pass', ms: 3 * LEASE });
    for (const one of FUNCTIONS)
      await this.perform({ do: 'claim', fn: one, slots: 20, recover: true, outcomes: [] });
    for (const engine of this.engines) await expect(engine.remains(this.now)).resolves.toEqual([]);
  }

  private async act(step: SharedOperation): Promise<void> {
    const { engines, now } = this;
    switch (step.do) {
      case 'pass':
        this.now += step.ms;
        return;
      case 'change':
        this.changed = step.numbers;
        this.changedAt = this.tick;
        return engines[step.fn].change(now, step.numbers);
      case 'enqueue':
        for (let i = 0; i < step.count; i++) {
          const due = step.queue === 'scheduled' ? now + LEASE / 2 : 0;
          const id = await engines[step.fn].enqueue(now, { ...step, due, expires: undefined });
          const { fn: owner, key } = step;
          this.jobs.push({ fn: owner, id, key, state: 'waiting', due, token: 0, leaseEnd: 0, stalls: 0 });
        }
        return;
      case 'cancel': {
        const job = this.jobs[step.pick % Math.max(1, this.jobs.length)];
        if (!job) return;
        await engines[job.fn].cancel(now, job.id);
        job.state = 'ended';
        return;
      }
      case 'claim':
        return this.claim(step);
    }
  }

  private async claim(step: Extract<SharedOperation, { do: 'claim' }>): Promise<void> {
    const engine = this.engines[step.fn];
    const own = this.members.filter(({ job }) => job.fn === step.fn);
    const outcomes = step.outcomes.flatMap(({ pick, ending: how, wait }) => {
      const member = own.at(-1 - pick);
      if (!member) return [];
      this.settle(member.job, member.token, how, wait);
      return [{ member: `${member.job.id}:${member.token}`, ending: how, wait }];
    });
    if (engine.recovers(step.slots, step.recover))
      for (const one of engine.recoversOthers ? FUNCTIONS : [step.fn]) this.recover(one);
    const { claims } = await engine.claim(this.now, step.slots, step.recover, outcomes);
    const wrong = claims.flatMap(({ id, token }) => this.take(step.fn, id, token));
    expect(wrong).toEqual([]);
    if (step.slots === 0) return;
    this.isReadyByTime[step.fn] = false;
    if (claims.length < step.slots) expect((await this.mustStart(step.fn)).map(({ id }) => id)).toEqual([]);
  }

  private settle(job: Job, token: number, how: LimitedEnding, wait: number): void {
    if (job.state !== 'running' || job.token !== token) return;
    const until = this.now + wait;
    job.state = how === 'success' || how === 'error' ? 'ended' : 'waiting';
    if (how === 'retry' || how === 'snoozed') job.due = until;
    if (how === 'held') this.heldUntil.set(job.key, Math.max(until, this.heldUntil.get(job.key) ?? 0));
  }

  private recover(owner: Fn): void {
    for (const job of this.jobs) {
      if (job.fn !== owner || job.state !== 'running' || job.leaseEnd > this.now) continue;
      job.stalls += 1;
      job.state = job.stalls > MAX_STALLS ? 'ended' : 'waiting';
    }
  }

  private take(owner: Fn, id: string, token: number): string[] {
    const job = this.jobs.find((one) => one.fn === owner && one.id === id);
    if (!job) return [`${id} is unknown`];
    const wrong = [
      ...(job.state === 'waiting' && job.due <= this.now ? [] : [`${id} is ${job.state}`]),
      ...(this.isOpen(job.key, this.changedAt, true)
        ? []
        : [`${id} of ${owner} starts though ${job.key} is full`]),
    ];
    Object.assign(job, { state: 'running', token, leaseEnd: this.now + LEASE, due: 0 });
    this.starts.push({ key: job.key, at: this.now, tick: this.tick });
    this.members.push({ job, token });
    return wrong;
  }

  /** Jobs that a claim has to take: those whose key is not set aside for the other function. */
  private async mustStart(owner: Fn): Promise<Job[]> {
    const ready = this.ready(owner);
    const aside = await Promise.all(ready.map(({ key }) => this.engines[owner].isSetAside(this.now, key)));
    return ready.filter((_, index) => !aside[index]);
  }

  /** Jobs that may start. */
  private ready(owner: Fn): Job[] {
    return this.jobs.filter(
      (job) => job.fn === owner && job.state === 'waiting' && job.due <= this.now && this.isOpen(job.key, -1),
    );
  }

  /**
   * Starts up to `since` may count or not: the numbers were others. A job whose lease has ended counts until it is
   * recovered, or until the other function finds out, unless `atMost`.
   */
  private isOpen(key: string, since: number, atMost = false): boolean {
    const { concurrency: most = Infinity, rate: pace } = this.changed ?? this.first;
    const counts = (start: SharedRun['starts'][number]) =>
      pace && start.key === key && start.at >= this.now - pace.per && start.tick > since;
    const running = this.running(key, atMost).length;
    const isHeld = (this.heldUntil.get(key) ?? 0) > this.now;
    return running < most && !isHeld && this.starts.filter(counts).length < (pace?.max ?? Infinity);
  }

  private running(key: string, atMost: boolean): Job[] {
    const counts = (job: Job) => job.state === 'running' && !(atMost && job.leaseEnd <= this.now);
    return this.jobs.filter((job) => job.key === key && counts(job));
  }

  /** What a function says of keys that run, in all functions together. */
  private async miscounted(owner: Fn): Promise<string[]> {
    const states = await this.engines[owner].limits(this.now);
    const missing = this.jobs.filter(
      (job) =>
        job.fn === owner &&
        this.running(job.key, true).includes(job) &&
        !states.some(({ key }) => key === job.key),
    );
    return [
      ...states.flatMap(({ key, running }) =>
        running >= this.running(key, true).length && running <= this.running(key, false).length
          ? []
          : [`${key} has ${running} running jobs, not ${this.running(key, false).length}`],
      ),
      ...missing.map(({ key }) => `${key} is not listed`),
    ];
  }
}
