import * as edits from '../../lib/gearmonkey/features/edits/edit-scripts.js';
import { unique as uniqueScript } from '../../lib/gearmonkey/features/unique/create-unique.js';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Redis } from 'ioredis';
import { partsOf, type WaitingState } from '../../lib/gearmonkey/features/edits/drain.js';
import { keysOf } from '../../lib/gearmonkey/core/wire/protocol.js';
import * as scripts from '../../lib/gearmonkey/core/wire/scripts.js';
import {
  inputAt,
  LEASE,
  LISTS,
  MAX_STALLS,
  type JobState,
  type QueueName,
  type Rule,
  type Snapshot,
} from '../model/job-model.js';
import { bounds, compare, operations, type Engine, type Outcome } from '../model/operations.js';
import { useRedis } from '../support/use-redis.js';

const RUNS = 600;
const ERROR = JSON.stringify({ name: 'Error', message: 'no' });

/** The scripts in virtual time, called as the source and the store call them. */
class ScriptEngine implements Engine {
  private calls = 0;
  private again: () => Promise<string[]> = async () => [];

  constructor(
    private readonly redis: Redis,
    fn: string,
    private readonly k = keysOf(fn),
  ) {}

  enqueue(now: number, queue: keyof Snapshot['lists'] | 'scheduled', due: number, count: number) {
    const { ids, jobs, channel, wake, senders, [queue]: target } = this.k;
    const call = (this.calls += 1);
    const score = queue === 'scheduled' ? due / 1000 : '';
    const inputs = Array.from({ length: count }, () => 'input');
    this.again = async () => {
      const keys = [ids, jobs, target, channel, wake, `${senders}client`];
      const last = await scripts.enqueue.run(this.redis, keys, now, call, 60, 0, score, '', inputs);
      return inputs.map((_, index) => String(last - count + 1 + index));
    };
    return this.again();
  }

  async enqueueUnique(now: number, key: string, rule: Rule) {
    const { ids, jobs, normal, scheduled, channel, wake, senders, unique, locks } = this.k;
    const call = (this.calls += 1);
    const [queue, score] = rule.kind === 'debounce' ? [scheduled, `+${rule.span}`] : [normal, ''];
    const keys = [ids, jobs, queue, channel, wake, `${senders}client`, unique, scheduled, locks];
    const run = async () => {
      const values = [inputAt(now), '', ruleText(rule), key];
      const [placed = ''] = await uniqueScript.run(this.redis, keys, now, call, 60, 0, score, now, values);
      const [id = '', mark] = placed.split(':');
      return { id, created: mark === undefined };
    };
    this.again = async () => {
      const { id, created } = await run();
      return created ? [id] : [];
    };
    return run();
  }

  enqueueAgain() {
    return this.again();
  }

  recovers(_slots: number, recover: boolean) {
    return recover;
  }

  async claim(now: number, slots: number, recover: boolean, outcomes: readonly Outcome[]) {
    const { jobs, locks, leases, scheduled, high, normal, low, wake, channel } = this.k;
    const keys = [jobs, locks, leases, scheduled, high, normal, low, wake, channel];
    keys.push(this.k.control);
    // Who claims has popped the marker.
    if (slots > 0) await this.redis.del(wake);
    const flag = recover ? 1 : 0;
    const settled = outcomes.flatMap(toArguments);
    const reply = await scripts.claim.run(
      this.redis,
      keys,
      now,
      LEASE,
      slots,
      MAX_STALLS,
      flag,
      1e6,
      0,
      '',
      settled,
    );
    const claims = reply.claims.map(({ id, token, attempts, stalls, snoozes }) => ({
      id,
      token,
      attempts,
      stalls,
      snoozes,
    }));
    return { refused: reply.refused, claims };
  }

  renew(now: number, members: readonly string[]) {
    return scripts.renew.run(this.redis, [this.k.leases, this.k.jobs], now, LEASE, 'worker', [...members]);
  }

  progress(member: string, dividend: number) {
    const { jobs, leases, progress } = this.k;
    const id = member.split(':')[0] as string;
    return scripts.progress.run(this.redis, [jobs + id, leases, progress], member, dividend, 1);
  }

  cancel(now: number, id: string) {
    const { jobs, locks, leases, scheduled, high, normal, low, channel, cancel } = this.k;
    const keys = [jobs, locks, leases, scheduled, high, normal, low, channel, cancel];
    keys.push(this.k.wake);
    const error = JSON.stringify({ name: 'JobCancelledError', message: 'cancelled' });
    return edits.cancel.run(this.redis, keys, now, id, '', 'cancelled', error, []);
  }

  update(_now: number, id: string, input: string, queue: QueueName | undefined, due: number) {
    const { jobs, scheduled, high, normal, low, wake } = this.k;
    const to = queue === undefined ? 0 : ['scheduled', 'high', 'normal', 'low'].indexOf(queue) + 2;
    const score = queue === 'scheduled' ? due / 1000 : '';
    const keys = [jobs, scheduled, high, normal, low, wake];
    return edits.update.run(this.redis, keys, id, '', to, score, 0, '', [input]);
  }

  async drain(now: number, states: readonly WaitingState[]) {
    const { jobs, locks, channel } = this.k;
    const ids: string[] = [];
    for (const { queue, kind, limited } of partsOf(states)) {
      if (limited) continue;
      let cursor = '0';
      do {
        const keys = [jobs, locks, channel, this.k[queue]];
        const step = await edits.drain.run(this.redis, keys, now, 1e9, cursor, kind);
        ids.push(...step.ids);
        cursor = step.cursor;
      } while (cursor !== '0');
    }
    return ids;
  }

  async pause(now: number, paused: boolean) {
    const { control, scheduled, high, normal, low, wake } = this.k;
    await edits.pause.run(this.redis, [control, scheduled, high, normal, low, wake], now, paused ? 1 : 0);
  }

  async snapshot(): Promise<Snapshot> {
    const count = Number((await this.redis.get(this.k.ids)) ?? 0);
    const ids = Array.from({ length: count }, (_, index) => String(index + 1));
    const [jobs, lists, scheduled, leases, wake, paused] = await Promise.all([
      Promise.all(ids.map((id) => this.job(id))),
      Promise.all(LISTS.map((list) => this.redis.lrange(this.k[list], 0, -1))),
      this.scores(this.k.scheduled, 1000),
      this.scores(this.k.leases, 1),
      this.redis.llen(this.k.wake),
      this.redis.hexists(this.k.control, 'paused'),
    ]);
    const [high = [], normal = [], low = []] = lists.map((list) => list.reverse());
    // For a job that waits in a list, a worker was notified.
    if (high.length + normal.length + low.length > 0 && paused === 0) expect(wake).toBe(1);
    const byId = Object.fromEntries(ids.map((id, index) => [id, jobs[index] as JobState]));
    return { jobs: byId, lists: { high, normal, low }, scheduled, leases };
  }

  private async job(id: string): Promise<JobState> {
    const [hash, finishes] = await Promise.all([
      this.redis.hgetall(this.k.jobs + id),
      this.redis.llen(this.k.locks + id),
    ]);
    const number = (field: string) => Number(hash[field] ?? 0);
    const errors = Object.keys(hash).filter((field) => field.startsWith('error:'));
    return {
      status: hash['status'] ?? '',
      input: hash['input'] ?? '',
      token: number('token'),
      attempts: number('attempts'),
      stalls: number('stalls'),
      snoozes: number('snoozes'),
      settled: number('settled'),
      output: hash['output'] ?? '',
      errors: errors.map((field) => Number(field.slice('error:'.length))).sort((a, b) => a - b),
      dividend: number('status:dividend'),
      finishes,
    };
  }

  private async scores(key: string, factor: number): Promise<Record<string, number>> {
    const flat = await this.redis.zrange(key, '0', '-1', 'WITHSCORES');
    const scores: Record<string, number> = {};
    for (let i = 0; i < flat.length; i += 2)
      scores[flat[i] as string] = Math.round(Number(flat[i + 1]) * factor);
    return scores;
  }
}

function ruleText(rule: Rule): string {
  if (rule.kind === 'throttle') return `throttle:${rule.span}`;
  return rule.kind === 'debounce' ? `debounce:${rule.span}:${rule.longest}` : rule.kind;
}

function toArguments({ member, ending, text, wait }: Outcome): string[] {
  switch (ending) {
    case 'success':
      return [member, 'success', text, ''];
    case 'error':
      return [member, 'error', text, ERROR];
    case 'snoozed':
      return [member, 'snoozed', String(wait), ''];
    case 'retry':
      return [member, 'retry', String(wait), ERROR];
    case 'released':
      return [member, 'released', '', ''];
  }
}

describe('The scripts', () => {
  const server = useRedis();

  it('keep to the state machine for random actions of three workers and a client', async () => {
    const property = fc.asyncProperty(operations, (steps) =>
      compare(new ScriptEngine(server.redis, server.fn()), steps),
    );
    await fc.assert(property, bounds(RUNS));
  }, 600_000);
});
