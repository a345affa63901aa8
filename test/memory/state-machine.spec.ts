import { describe, it } from '@jest/globals';
import fc from 'fast-check';
import { partsOf, type WaitingState } from '../../lib/gearmonkey/features/edits/drain.js';
import { drainJobs, updateJob } from '../../lib/memory/memory-edits.js';
import { MemoryFunction } from '../../lib/memory/memory-function.js';
import {
  inputAt,
  LEASE,
  MAX_STALLS,
  type JobState,
  type ListName,
  type QueueName,
  type Rule,
  type Snapshot,
} from '../model/job-model.js';
import { bounds, compare, operations, type Engine, type Outcome } from '../model/operations.js';

const RUNS = 500;
const ERROR = { name: 'Error', message: 'no' };

/** One function of the embedded server, called as its source and its store call it. */
class MemoryEngine implements Engine {
  private readonly fn = new MemoryFunction('fn', { maxStalls: MAX_STALLS });
  private readonly finishes = new Map<string, number>();
  private readonly ids: string[] = [];

  constructor() {
    this.fn.listeners.add({
      event: ({ type, id }) => {
        if (type === 'finish') this.finishes.set(id, (this.finishes.get(id) ?? 0) + 1);
      },
      progress: () => undefined,
      resync: () => undefined,
    });
  }

  async enqueue(now: number, queue: QueueName, due: number, count: number) {
    const placement = queue === 'scheduled' ? { queue, score: due / 1000 } : { queue };
    const ids = Array.from({ length: count }, () => this.fn.enqueue('input', placement, now));
    this.ids.push(...ids);
    return ids;
  }

  async enqueueUnique(now: number, key: string, rule: Rule) {
    const due = rule.kind === 'debounce' ? now + rule.span : undefined;
    const placement =
      due === undefined
        ? ({ queue: 'normal' } as const)
        : ({ queue: 'scheduled', score: due / 1000 } as const);
    const { id, created } = this.fn.unique.enqueue(key, rule, inputAt(now), placement, now);
    if (created) this.ids.push(id);
    return { id, created };
  }

  recovers(slots: number) {
    return slots > 0;
  }

  async claim(now: number, slots: number, _recover: boolean, outcomes: readonly Outcome[]) {
    const refused = outcomes.filter((outcome) => !this.settle(now, outcome)).map(({ member }) => member);
    const taken = slots > 0 ? this.fn.claim(slots, LEASE, now) : [];
    return {
      refused,
      claims: taken.map(({ id, token, attempts, stalls, snoozes }) => ({
        id,
        token,
        attempts,
        stalls,
        snoozes,
      })),
    };
  }

  async renew(now: number, members: readonly string[]) {
    return members.filter((member) => !this.fn.renew(...parse(member), LEASE, now));
  }

  async progress(member: string, dividend: number) {
    return this.fn.progress(...parse(member), dividend, 1);
  }

  async cancel(now: number, id: string) {
    return this.fn.cancel(id, { name: 'JobCancelledError', message: 'cancelled' }, now);
  }

  async update(now: number, id: string, input: string, queue: QueueName | undefined, due: number) {
    const place = queue && (queue === 'scheduled' ? { queue, score: due / 1000 } : { queue });
    return updateJob(this.fn, id, { input, place }, now);
  }

  async drain(now: number, states: readonly WaitingState[]) {
    return partsOf(states).flatMap((part) => [
      ...drainJobs(this.fn, { ...part, last: Infinity, cursor: '0' }, now).ids,
    ]);
  }

  async pause(_now: number, paused: boolean) {
    this.fn.control.pause(paused);
  }

  async snapshot(): Promise<Snapshot> {
    const { lists, fronts, scheduled } = {
      lists: this.fn.waiting.queues['lists'],
      fronts: this.fn.waiting.queues['fronts'],
      scheduled: this.fn.waiting.queues['scheduled'],
    };
    const list = (name: ListName) => [...fronts[name].toReversed(), ...lists[name]];
    return {
      jobs: Object.fromEntries(this.ids.map((id) => [id, this.job(id)])),
      lists: { high: list('high'), normal: list('normal'), low: list('low') },
      scheduled: Object.fromEntries(scheduled.map(({ id, due }) => [id, due])),
      leases: Object.fromEntries(
        [...this.fn['leases']['leases']].map(([id, { token, expires }]) => [`${id}:${token}`, expires]),
      ),
    };
  }

  private settle(now: number, { member, ending, text, wait }: Outcome): boolean {
    const [id, token] = parse(member);
    switch (ending) {
      case 'success':
        return this.fn.finish(id, token, 'success', text, undefined, now);
      case 'error':
        return this.fn.finish(id, token, 'error', text, ERROR, now);
      case 'snoozed':
        return this.fn.snooze(id, token, wait, now);
      case 'retry':
        return this.fn.retry(id, token, ERROR, wait, now);
      case 'released':
        return this.fn.release(id, token, now);
    }
  }

  private job(id: string): JobState {
    const fields = this.fn.read(id, 0) ?? new Map<string, Uint8Array>();
    const text = (field: string) => Buffer.from(fields.get(field) ?? []).toString();
    const number = (field: string) => Number(text(field));
    const errors = [...fields.keys()].filter((field) => field.startsWith('error:'));
    return {
      status: text('status'),
      input: text('input'),
      token: number('token'),
      attempts: number('attempts'),
      stalls: number('stalls'),
      snoozes: number('snoozes'),
      settled: number('settled'),
      output: text('output'),
      errors: errors.map((field) => Number(field.slice('error:'.length))).sort((a, b) => a - b),
      dividend: number('status:dividend'),
      finishes: this.finishes.get(id) ?? 0,
    };
  }
}

function parse(member: string): [id: string, token: number] {
  const [id = '', token] = member.split(':');
  return [id, Number(token)];
}

describe('MemoryFunction', () => {
  it('keeps to the state machine for random actions of three workers and a client', async () => {
    const property = fc.asyncProperty(operations, (steps) => compare(new MemoryEngine(), steps));
    await fc.assert(property, bounds(RUNS));
  }, 600_000);
});
