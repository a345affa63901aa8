import { describe, expect, it } from '@jest/globals';
import { faultsOf, mostAtOnce, rerunsOf, type Event } from './history.js';

const run = (nonce: string, attempt = 1) => ({ job: 'j', attempt, worker: 'w', nonce });
const accepted: Event = { type: 'accepted', key: 'k', job: 'j' };
const begun = (nonce: string, attempt?: number): Event => ({ type: 'begun', ...run(nonce, attempt) });
const reported = (nonce: string, status = 204): Event => ({ type: 'reported', status, ...run(nonce) });
const ended = (result: unknown, status = 'done'): Event => ({ type: 'ended', job: 'j', status, result });

describe('the checker of histories', () => {
  it.each<[string, Event[]]>([
    ['a job that ran once', [accepted, begun('a'), reported('a'), ended('a')]],
    ['one whose report was answered after its worker was killed', [accepted, begun('a'), ended('a')]],
    [
      'one that was asked for and reported twice',
      [accepted, accepted, begun('a'), reported('a'), reported('a'), ended('a')],
    ],
    [
      'one that ran twice, and of which one run was accepted',
      [accepted, begun('a'), begun('b', 2), reported('a', 409), reported('b'), ended('b')],
    ],
    ['one that was read twice', [accepted, begun('a'), reported('a'), ended('a'), ended('a')]],
  ])('finds nothing wrong with %s', (_, history) => {
    expect(faultsOf(history)).toEqual([]);
  });

  it.each<[string, Event[], RegExp]>([
    ['a job that never ended', [accepted, begun('a')], /lost/],
    ['one that ended as an error', [accepted, begun('a'), ended(null, 'error')], /lost/],
    ['one whose result is of no run', [accepted, begun('a'), ended('x')], /of no run/],
    [
      'one of which two runs were accepted',
      [accepted, begun('a'), begun('b'), reported('a'), reported('b'), ended('a')],
      /accepted of 2 runs/,
    ],
    ['one whose result changed', [accepted, begun('a'), begun('b'), ended('a'), ended('b')], /2 results/],
    [
      'one whose accepted result was replaced',
      [accepted, begun('a'), begun('b'), reported('a'), ended('b')],
      /replaced/,
    ],
    [
      'one key that made two jobs',
      [accepted, { ...accepted, job: 'other' }, begun('a'), ended('a')],
      /two jobs/,
    ],
    ['a run of a job that was never enqueued', [begun('a')], /was never enqueued/],
  ])('finds %s', (_, history, fault) => {
    expect(faultsOf(history).join()).toMatch(fault);
  });

  it('finds jobs that ran twice without an excuse', () => {
    const history = [begun('a'), begun('b', 2)];
    expect(rerunsOf(history, new Set())).toEqual(['j: run 2 times']);
    expect(rerunsOf(history, new Set(['j']))).toEqual([]);
    expect(rerunsOf([begun('a'), begun('a')], new Set())).toEqual([]);
  });

  it('finds how many ran at a time', () => {
    const at = (type: 'begun' | 'ran', nonce: string, time: number): Event => ({
      type,
      at: time,
      ...run(nonce),
    });
    const one = [at('begun', 'a', 1), at('ran', 'a', 3)];
    expect(mostAtOnce([...one, at('begun', 'b', 3), at('ran', 'b', 4)])).toBe(1);
    expect(mostAtOnce([...one, at('begun', 'b', 2), at('ran', 'b', 4), at('begun', 'killed', 2)])).toBe(2);
  });
});
