import * as edits from '../../../lib/gearmonkey/features/edits/edit-scripts.js';
import { describe, it } from '@jest/globals';
import fc from 'fast-check';
import type { Redis } from 'ioredis';
import type { LimitRules } from '../../../lib/job/limit.js';
import { numbersText, rulesText, toLimitState } from '../../../lib/gearmonkey/features/limits/limit-rules.js';
import { keysOf } from '../../../lib/gearmonkey/core/wire/protocol.js';
import * as limitScripts from '../../../lib/gearmonkey/features/limits/limit-scripts.js';
import * as scripts from '../../../lib/gearmonkey/core/wire/scripts.js';
import { mend } from '../../../lib/gearmonkey/features/views/view-scripts.js';
import { LISTS, type Claimed, type ListName } from '../../model/job-model.js';
import { LEASE, MAX_STALLS, type Numbers, type Rules } from '../../model/limit-ledger.js';
import {
  checkLimits,
  limitOperations,
  type LimitedOutcome,
  type LimitEngine,
  type NewJob,
} from '../../model/limit-operations.js';
import {
  callers,
  checkSharedLimit,
  checkTurns,
  sharedOperations,
} from '../../model/shared-limit-operations.js';
import { bounds } from '../../model/operations.js';
import { useRedis } from '../../support/use-redis.js';
import { submit } from '../redis-rig.js';

const RUNS = 400;
const MOST_KEYS = 1000;
const ERROR = JSON.stringify({ name: 'Error', message: 'no' });

/** The scripts in virtual time, called as the source and the store call them. */
class ScriptLimitEngine implements LimitEngine {
  /** Their places are given up, but their workers recover them. */
  readonly recoversOthers = false;
  private calls = 0;
  private rules: LimitRules = { order: 'fair' };
  private readonly k;

  constructor(
    private readonly redis: Redis,
    private readonly fn: string,
    private readonly shared = `of-${fn}`,
  ) {
    this.k = keysOf(fn);
  }

  async setRules(_now: number, rules: Rules) {
    const { control, limits, wake } = this.k;
    const { isShared, ...others } = rules;
    this.rules = { ...others, ...(isShared && { shared: this.shared }) };
    const texts = rulesText(this.fn, this.rules, this.k);
    await limitScripts.setLimit.run(this.redis, [control, limits, wake], 'limit', ...texts);
  }

  async change(_now: number, numbers: Numbers | undefined) {
    const { control, limits, wake } = this.k;
    const text = numbers ? numbersText(numbers) : '';
    await limitScripts.setLimit.run(this.redis, [control, limits, wake], 'override', text, '');
  }

  async enqueue(now: number, { key, queue, due, expires }: NewJob) {
    const { ids, jobs, locks, leases, channel, cancel, wake, senders, control, limits } = this.k;
    const keys = [ids, jobs, locks, leases, channel, cancel, wake, `${senders}client`, control, limits];
    const [rules, shared] = rulesText(this.fn, this.rules, this.k);
    const [score, priority] = queue === 'scheduled' ? [due / 1000, 'normal'] : (['', queue] as const);
    const options = expires === undefined ? '' : JSON.stringify({ expires });
    const values = ['input', options, key];
    const call = (this.calls += 1);
    const common = [now, call, 60, 0, score, priority, now, rules, shared, 'wait', values] as const;
    const reply = await limitScripts.enqueueLimited.run(this.redis, keys, ...common);
    return typeof reply === 'number' ? String(reply) : `refused for ${reply.key}`;
  }

  submit(_now: number, key: string, queue: ListName) {
    return submit(this.redis, this.fn, key, { queue });
  }

  recovers(_slots: number, recover: boolean) {
    return recover;
  }

  async isSetAside(now: number, key: string) {
    const line = `shared-limit:${this.shared}:line:${key}`;
    const [mark, ends, first] = await this.redis.zrange(line, '0', '1', 'WITHSCORES');
    return mark === '' && first !== this.k.limits && -Number(ends) > now;
  }

  async isAwake() {
    return (await this.redis.llen(this.k.wake)) > 0;
  }

  async claim(now: number, slots: number, recover: boolean, outcomes: readonly LimitedOutcome[]) {
    // Who claims has popped the marker.
    if (slots > 0) await this.redis.del(this.k.wake);
    const { refused, claims, unfiled } = await this.claimOnce(
      now,
      slots,
      recover,
      outcomes.flatMap(toArguments),
    );
    let files = unfiled;
    const taken: Pick<Claimed, 'id' | 'token'>[] = [...claims];
    while (files.length > 0) {
      const keys = files.flatMap(({ id, token, input }) => [`${id}:${token}`, 'filed', input.toString(), '']);
      const next = await this.claimOnce(now, slots - taken.length, false, keys);
      taken.push(...next.claims);
      files = next.unfiled;
    }
    return { refused, claims: taken };
  }

  cancel(now: number, id: string) {
    const { jobs, locks, leases, scheduled, high, normal, low, channel, cancel, wake } = this.k;
    const keys = [jobs, locks, leases, scheduled, high, normal, low, channel, cancel, wake];
    return edits.cancel.run(this.redis, keys, now, id, '', 'cancelled', ERROR, []);
  }

  expire(now: number, id: string) {
    const { jobs, locks, channel } = this.k;
    return scripts.expire.run(this.redis, [jobs, locks, channel], now, id, '');
  }

  async deleteHash(id: string) {
    await this.redis.del(this.k.jobs + id);
  }

  async retry(now: number, id: string) {
    const { jobs, locks, channel, control, high, normal, low, wake, ended, scheduled } = this.k;
    const [status, finished] = await this.redis.hmget(jobs + id, 'status', 'finished');
    if (status !== 'error') return false;
    const keys = [jobs, locks, channel, control, high, normal, low, wake];
    keys.push(`${ended}failed`, `${ended}cancelled`, scheduled);
    const call = `call ${(this.calls += 1)}`;
    return (await mend.run(this.redis, keys, now, 'retry', call, [id, finished ?? ''])) === 1;
  }

  async twice() {
    const { limits, scheduled, high, normal, low } = this.k;
    const ofKey = (key: string) => LISTS.map((list) => `${limits}wait:${list}:${key}`);
    const lists = [high, normal, low, ...['a', 'b', 'c'].flatMap(ofKey)];
    const reads = this.redis.pipeline();
    for (const list of lists) reads.lrange(list, '0', '-1');
    for (const times of [scheduled, `${limits}due`]) reads.zrange(times, '0', '-1');
    const places = (await reads.exec())?.flatMap(([, ids]) => ids as string[]) ?? [];
    const ids = places.map((entry) => entry.split(':')[0]);
    return ids.flatMap((id, at) => (id !== undefined && ids.indexOf(id) < at ? [id] : []));
  }

  async limits(now: number) {
    const { control, limits, jobs, wake } = this.k;
    const keys = [control, limits, jobs, wake];
    const found = await limitScripts.readLimits.run(this.redis, keys, now, MOST_KEYS, 0, '');
    return (found ?? []).map(toLimitState);
  }

  /** Starts are forgotten by Redis when their time is over. */
  async remains() {
    const shared = await this.redis.keys(`shared-limit:${this.shared}:*`);
    const keys = [
      ...(await this.redis.keys(`${this.k.limits}*`)),
      ...shared.filter((key) => !key.endsWith(':rules')),
    ];
    const times = await Promise.all(keys.map((key) => this.redis.pttl(key)));
    return keys.filter((_, index) => (times[index] ?? -1) < 0);
  }

  private async claimOnce(now: number, slots: number, recover: boolean, outcomes: (string | Uint8Array)[]) {
    const { jobs, locks, leases, scheduled, high, normal, low, wake, channel, control } = this.k;
    const keys = [jobs, locks, leases, scheduled, high, normal, low, wake, channel, control];
    const flag = recover ? 1 : 0;
    // As if workers had looked all the time: otherwise this is an outage, after which leases get time to be renewed.
    if (recover) await this.redis.del(this.k.recovery);
    return scripts.claim.run(this.redis, keys, now, LEASE, slots, MAX_STALLS, flag, 1e6, 1, '', outcomes);
  }
}

function toArguments({ member, ending, wait }: LimitedOutcome): string[] {
  switch (ending) {
    case 'success':
      return [member, 'success', '', ''];
    case 'error':
      return [member, 'error', 'no', ERROR];
    case 'snoozed':
      return [member, 'snoozed', String(wait), ''];
    case 'retry':
      return [member, 'retry', String(wait), ERROR];
    case 'held':
      return [member, 'held', String(wait), ''];
    case 'released':
      return [member, 'released', '', ''];
  }
}

describe('Limits of the scripts', () => {
  const server = useRedis();

  it('hold for random actions of workers and clients: none exceeded, none starved, nothing left', async () => {
    const property = fc.asyncProperty(limitOperations, (steps) =>
      checkLimits(new ScriptLimitEngine(server.redis, server.fn()), steps),
    );
    await fc.assert(property, bounds(RUNS));
  }, 600_000);

  it('hold for two functions that share one', async () => {
    const property = fc.asyncProperty(sharedOperations, (steps) => {
      const shared = server.fn();
      const engine = () => new ScriptLimitEngine(server.redis, server.fn(), shared);
      return checkSharedLimit([engine(), engine()], steps);
    });
    await fc.assert(property, bounds(RUNS));
  }, 600_000);

  it('give functions that share one their turns', async () => {
    const property = fc.asyncProperty(callers, (steps) => {
      const shared = server.fn();
      const engine = () => new ScriptLimitEngine(server.redis, server.fn(), shared);
      return checkTurns([engine(), engine()], steps);
    });
    await fc.assert(property, bounds(RUNS));
  }, 600_000);
});
