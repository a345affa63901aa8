import { expect } from '@jest/globals';
import fc from 'fast-check';
import type { WaitingState } from '../../lib/gearmonkey/features/edits/drain.js';
import { breaches } from './invariants.js';
import {
  JobModel,
  LEASE,
  type Claimed,
  type Ending,
  type Placed,
  type QueueName,
  type Rule,
  type Snapshot,
} from './job-model.js';
import { IS_FAST_TIER } from '../support/tier.js';

export interface Outcome {
  readonly member: string;
  readonly ending: Ending;
  readonly text: string;
  readonly wait: number;
}

export interface ClaimResult {
  readonly refused: readonly string[];
  readonly claims: readonly Claimed[];
}

/** What is tested against the model: one function's jobs. */
export interface Engine {
  /** Ids of new jobs; `due` in ms. */
  enqueue(now: number, queue: QueueName, due: number, count: number): Promise<string[]>;
  enqueueUnique(now: number, key: string, rule: Rule): Promise<Placed>;
  /** The last call that enqueued again, as after a lost reply. Ids of the jobs that it created. */
  enqueueAgain?(): Promise<string[]>;
  claim(now: number, slots: number, recover: boolean, outcomes: readonly Outcome[]): Promise<ClaimResult>;
  /** Whether a call like this gives expired jobs back. */
  recovers(slots: number, recover: boolean): boolean;
  /** The members that are lost. */
  renew(now: number, members: readonly string[]): Promise<readonly string[]>;
  progress(member: string, dividend: number): Promise<boolean>;
  cancel(now: number, id: string): Promise<string>;
  pause(now: number, paused: boolean): Promise<void>;
  /** Removes the jobs with these states that wait; returns their ids. */
  drain(now: number, states: readonly WaitingState[]): Promise<string[]>;
  /** Without `queue` only the input changes; `due` in ms. */
  update(now: number, id: string, input: string, queue: QueueName | undefined, due: number): Promise<string>;
  snapshot(): Promise<Snapshot>;
}

export type Operation =
  | { readonly do: 'enqueue'; readonly queue: QueueName; readonly delay: number; readonly count: number }
  | { readonly do: 'enqueue unique'; readonly key: string; readonly rule: Rule }
  | { readonly do: 'enqueue again' }
  | {
      readonly do: 'claim';
      readonly worker: number;
      readonly slots: number;
      readonly recover: boolean;
      readonly outcomes: readonly { readonly pick: number; readonly ending: Ending; readonly wait: number }[];
    }
  | { readonly do: 'renew'; readonly worker: number; readonly picks: readonly number[] }
  | { readonly do: 'progress'; readonly worker: number; readonly pick: number }
  | { readonly do: 'cancel'; readonly pick: number }
  | { readonly do: 'pause'; readonly paused: boolean }
  | { readonly do: 'drain'; readonly states: readonly WaitingState[] }
  | {
      readonly do: 'update';
      readonly pick: number;
      readonly queue: QueueName | undefined;
      readonly delay: number;
    }
  | { readonly do: 'pass'; readonly ms: number };

const WORKERS = 3;
const worker = fc.nat(WORKERS - 1);
/** Which of the claims a worker ever had, counted from the last: mostly those it still holds. */
const pick = fc.nat(5);
const queue = fc.constantFrom<QueueName>('normal', 'high', 'low', 'scheduled');
const ending = fc.constantFrom<Ending>('success', 'error', 'retry', 'snoozed', 'released');
const outcome = fc.record({ pick, ending, wait: fc.nat(LEASE) });
const span = fc.integer({ min: 1, max: LEASE });
const rule: fc.Arbitrary<Rule> = fc.oneof(
  fc.record({ kind: fc.constantFrom('unfinished' as const, 'waiting' as const) }),
  fc.record({ kind: fc.constant('throttle' as const), span }),
  fc.record({
    kind: fc.constant('debounce' as const),
    span,
    longest: fc.integer({ min: 1, max: LEASE }),
  }),
);
const operation: fc.Arbitrary<Operation> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('enqueue' as const),
      queue,
      delay: fc.nat(LEASE),
      count: fc.integer({ min: 1, max: 3 }),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('enqueue unique' as const),
      key: fc.constantFrom('a', 'b'),
      rule,
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('enqueue again' as const) }) },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('claim' as const),
      worker,
      slots: fc.nat(4),
      recover: fc.boolean(),
      outcomes: fc.array(outcome, { maxLength: 4 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('renew' as const),
      worker,
      picks: fc.array(pick, { minLength: 1, maxLength: 3 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('progress' as const), worker, pick }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('cancel' as const), pick: fc.nat(9) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('update' as const),
      pick: fc.nat(9),
      queue: fc.option(queue, { nil: undefined }),
      delay: fc.nat(LEASE),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('drain' as const),
      states: fc.subarray<WaitingState>(['waiting', 'scheduled', 'retrying'], { minLength: 1 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('pause' as const), paused: fc.boolean() }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('pass' as const), ms: fc.nat(LEASE) }) },
);

/** What three workers and a client do, in any order. */
export const operations = fc.array(operation, { minLength: 1, maxLength: 60 });

/** Of `npm test`, which has a fifth of the runs: the same at each time, so that it fails only for what has changed. */
const SEED_OF_FAST_TIER = 1;

/** Bounded for every day: `PROPERTY_RUNS` asks for more, `PROPERTY_SEED` for those of a failure. */
export function bounds(runs: number): fc.Parameters<unknown> {
  const { PROPERTY_RUNS, PROPERTY_SEED = IS_FAST_TIER ? SEED_OF_FAST_TIER : undefined } = process.env;
  return {
    numRuns: Number(PROPERTY_RUNS ?? (IS_FAST_TIER ? Math.ceil(runs / 5) : runs)),
    ...(PROPERTY_SEED === undefined ? {} : { seed: Number(PROPERTY_SEED) }),
  };
}

/** Does all of it to the engine and to the model, and compares after each step. */
export async function compare(engine: Engine, steps: readonly Operation[]): Promise<void> {
  const model = new JobModel();
  const issued: string[][] = Array.from({ length: WORKERS }, () => []);
  let last = model.snapshot();
  for (const step of steps) {
    await perform(engine, model, issued, step);
    const now = await engine.snapshot();
    expect(breaches(last, now)).toEqual([]);
    expect(now).toEqual(model.snapshot());
    last = now;
  }
}

async function perform(
  engine: Engine,
  model: JobModel,
  issued: readonly string[][],
  step: Operation,
): Promise<void> {
  const { now } = model;
  const member = (of: number, from: number) => issued[of]?.at(-1 - from);
  const members = (of: number, picks: readonly number[]) =>
    picks.map((from) => member(of, from)).filter((found) => found !== undefined);

  switch (step.do) {
    case 'pass':
      model.now += step.ms;
      return;
    case 'enqueue': {
      const due = now + step.delay;
      const ids = Array.from({ length: step.count }, () => model.enqueue(step.queue, due));
      await expect(engine.enqueue(now, step.queue, due, step.count)).resolves.toEqual(ids);
      return;
    }
    case 'enqueue unique': {
      const placed = model.enqueueUnique(step.key, step.rule);
      await expect(engine.enqueueUnique(now, step.key, step.rule)).resolves.toEqual(placed);
      return;
    }
    case 'enqueue again': {
      const { ids } = model;
      const again = (await engine.enqueueAgain?.()) ?? [];
      expect(ids.slice(ids.length - again.length)).toEqual(again);
      return;
    }
    case 'renew': {
      const held = [...new Set(members(step.worker, step.picks))];
      const lost = held.filter((one) => !model.renew(one));
      await expect(engine.renew(now, held)).resolves.toEqual(lost);
      return;
    }
    case 'progress': {
      const [held] = members(step.worker, [step.pick]);
      if (held === undefined) return;
      await expect(engine.progress(held, now)).resolves.toBe(model.progress(held, now));
      return;
    }
    case 'cancel': {
      const { ids } = model;
      const id = ids[step.pick % Math.max(1, ids.length)];
      if (id === undefined) return;
      await expect(engine.cancel(now, id)).resolves.toBe(model.cancel(id));
      return;
    }
    case 'pause':
      model.paused = step.paused;
      return engine.pause(now, step.paused);
    case 'drain': {
      const drained = await engine.drain(now, step.states);
      expect(drained.toSorted()).toEqual(model.drain(step.states).toSorted());
      return;
    }
    case 'update': {
      const { ids } = model;
      const id = ids[step.pick % Math.max(1, ids.length)];
      if (id === undefined) return;
      const [input, due] = [`changed at ${now}`, now + step.delay];
      const expected = model.update(id, input, step.queue, due);
      await expect(engine.update(now, id, input, step.queue, due)).resolves.toBe(expected);
      return;
    }
    case 'claim': {
      const outcomes = step.outcomes.flatMap(({ pick: from, ending: how, wait }) =>
        members(step.worker, [from]).map((held) => ({
          member: held,
          ending: how,
          text: `${how} of ${held}`,
          wait,
        })),
      );
      const { refused, claims } = await engine.claim(now, step.slots, step.recover, outcomes);
      const expected = outcomes.filter(
        ({ member: held, ending: how, text, wait }) => !model.settle(held, how, text, wait),
      );
      expect(refused).toEqual(expected.map(({ member: held }) => held));
      if (engine.recovers(step.slots, step.recover)) model.recover();
      expect(claims).toEqual(
        model.claim(
          step.slots,
          claims.map(({ id }) => id),
        ),
      );
      issued[step.worker]?.push(...claims.map(({ id, token }) => `${id}:${token}`));
      return;
    }
  }
}
