import type { Redis } from 'ioredis';
import { keysOf } from '../../../lib/gearmonkey/protocol.js';
import * as scripts from '../../../lib/gearmonkey/scripts.js';

/** Virtual time: what the scripts are told that it is, in ms. */
export const NOW = 1_000_000;
export const LEASE_MS = 100;

export interface TurnArguments {
  now?: number;
  slots?: number;
  maxStalls?: number;
  outcomes?: scripts.OutcomeArguments;
}

export function turn(
  redis: Redis,
  fn: string,
  { now = NOW, slots = 10, maxStalls = 1, outcomes = [] }: TurnArguments = {},
) {
  const k = keysOf(fn);
  const keys = [k.jobs, k.locks, k.leases, k.scheduled, k.high, k.normal, k.low, k.wake, k.channel];
  return scripts.turn.run(redis, keys, now, LEASE_MS, slots, maxStalls, outcomes);
}

export function enqueue(
  redis: Redis,
  fn: string,
  inputs: string[],
  { queue = 'normal' as 'high' | 'normal' | 'low' | 'scheduled', score = '' as number | '' } = {},
) {
  const k = keysOf(fn);
  return scripts.enqueue.run(redis, [k.ids, k.jobs, k[queue], k.channel, k.wake], NOW, score, inputs);
}

export function progress(redis: Redis, fn: string, member: string, dividend: number, divisor: number) {
  const k = keysOf(fn);
  const [id = ''] = member.split(':');
  return scripts.progress.run(redis, [k.jobs + id, k.leases, k.progress], id, member, dividend, divisor);
}

export function renew(redis: Redis, fn: string, now: number, members: string[]) {
  return scripts.renew.run(redis, [keysOf(fn).leases], now, LEASE_MS, members);
}

export function look(redis: Redis, functions: string[], now = NOW) {
  const keys = functions.flatMap((fn) => {
    const { leases, scheduled, high, normal, low, wake } = keysOf(fn);
    return [leases, scheduled, high, normal, low, wake];
  });
  return scripts.look.run(redis, keys, now);
}
