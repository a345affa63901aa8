import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  FunctionStates,
  TRANSITIONS,
  type FunctionEvent,
  type FunctionState,
} from '../../lib/gearmonkey/core/source/function-states.js';

const STATES = Object.keys(TRANSITIONS) as FunctionState[];
const EVENTS: readonly FunctionEvent[] = [
  'filled',
  'short',
  'block',
  'unblock',
  'wake',
  'lose',
  'recover',
  'drain',
  'resume',
];
const FUNCTIONS = ['a', 'b', 'c'];

const refuse = (message: string) => {
  throw new Error(message);
};

/** States that can be reached from `start`, by any events. */
function reachable(start: FunctionState): Set<FunctionState> {
  const seen = new Set<FunctionState>([start]);
  for (const state of seen) for (const next of Object.values(TRANSITIONS[state])) seen.add(next);
  return seen;
}

describe('the states of a function', () => {
  it('can all be reached from each other, so no worker gets stuck', () => {
    for (const state of STATES) expect([...reachable(state)].sort()).toEqual([...STATES].sort());
  });

  it('all have transitions for drain, resume and replies', () => {
    for (const state of STATES)
      expect(Object.keys(TRANSITIONS[state])).toEqual(
        expect.arrayContaining(['drain', 'resume', 'filled', 'short']),
      );
  });

  it('don’t change at an event without a transition, and report it, in any environment', () => {
    const told: string[] = [];
    const states = new FunctionStates((message) => told.push(message));
    expect(states.apply('a', 'unblock')).toBe('claiming');
    expect(told).toEqual([
      'The event "unblock" is illegal in the state "claiming" of "a". This is a bug: please report it.',
    ]);
  });

  it('follow the table for random events of several functions', () => {
    const step = fc.tuple(fc.constantFrom(...FUNCTIONS), fc.constantFrom(...EVENTS));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const states = new FunctionStates(refuse);
        const model = new Map<string, FunctionState>(FUNCTIONS.map((fn) => [fn, 'claiming']));
        for (const [fn, event] of steps) {
          if (event === 'drain' || event === 'resume') {
            states[event]();
            for (const each of FUNCTIONS) model.set(each, next(model, each, event) ?? 'claiming');
          } else if (next(model, fn, event) === undefined) {
            expect(() => states.apply(fn, event)).toThrow('is illegal');
          } else {
            expect(states.apply(fn, event)).toBe(next(model, fn, event));
            model.set(fn, states.of(fn));
          }
          for (const each of FUNCTIONS) expect(states.of(each)).toBe(model.get(each));
          const waits = FUNCTIONS.filter((each) => states.isWaiting(each));
          expect(waits.every((each) => !['claiming', 'draining'].includes(states.of(each)))).toBe(true);
          if (states.isDraining) expect(waits).toEqual([]);
        }
      }),
    );
  });

  it('keep the time of the next due job while the function waits', () => {
    const states = new FunctionStates(refuse);
    states.expect('a', 1000);
    expect(states.due('a')).toBe(Infinity);
    states.apply('a', 'short');
    states.expect('a', 1000);
    const due = states.due('a');
    expect(due).toBeLessThanOrEqual(performance.now() + 1000);
    states.apply('a', 'block');
    states.apply('a', 'unblock');
    expect(states.due('a')).toBe(due);
    states.expect('a', -1);
    expect(states.due('a')).toBe(Infinity);
    states.expect('a', 1);
    states.apply('a', 'wake');
    expect(states.due('a')).toBe(Infinity);
  });
});

function next(
  model: ReadonlyMap<string, FunctionState>,
  fn: string,
  event: FunctionEvent,
): FunctionState | undefined {
  return TRANSITIONS[model.get(fn) ?? 'claiming'][event];
}
