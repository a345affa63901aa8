import type { Redis } from 'ioredis';
import { keysOf } from '../../../lib/gearmonkey/wire/protocol.js';
import * as scripts from '../../../lib/gearmonkey/wire/scripts.js';

/** Virtual time: what the scripts are told that it is, in ms. */
export const NOW = 1_000_000;
export const LEASE_MS = 100;

export interface ClaimArguments {
  now?: number;
  slots?: number;
  maxStalls?: number;
  outcomes?: scripts.OutcomeArguments;
  largestInput?: number;
  recover?: 0 | 1;
  lease?: number;
  /** The key that gets the claims. */
  noted?: string;
}

export function claim(
  redis: Redis,
  fn: string,
  {
    now = NOW,
    slots = 10,
    maxStalls = 1,
    outcomes = [],
    largestInput = 1e6,
    recover = 1,
    lease = LEASE_MS,
    noted,
  }: ClaimArguments = {},
) {
  const k = keysOf(fn);
  const keys = [
    k.jobs,
    k.locks,
    k.leases,
    k.scheduled,
    k.high,
    k.normal,
    k.low,
    k.wake,
    k.channel,
    k.control,
  ];
  if (noted !== undefined) keys.push(noted);
  return scripts.claim.run(redis, keys, now, lease, slots, maxStalls, recover, largestInput, outcomes);
}

let calls = 0;

export interface EnqueueArguments {
  queue?: 'high' | 'normal' | 'low' | 'scheduled';
  score?: number | '';
  options?: string;
  sender?: string;
  /** Grows by itself unless given. */
  call?: number;
  /** Seconds for which the call is remembered. */
  memory?: number;
  /** 0 makes tokens count from 1. */
  mark?: number;
}

export function enqueue(
  redis: Redis,
  fn: string,
  inputs: string[],
  {
    queue = 'normal',
    score = '',
    options = '',
    sender = 'test',
    call = (calls += 1),
    memory = 60,
    mark = 0,
  }: EnqueueArguments = {},
) {
  const k = keysOf(fn);
  const keys = [k.ids, k.jobs, k[queue], k.channel, k.wake, k.senders + sender];
  return scripts.enqueue.run(redis, keys, NOW, call, memory, mark, score, options, inputs);
}

export function progress(redis: Redis, fn: string, member: string, dividend: number, divisor: number) {
  const k = keysOf(fn);
  const [id = ''] = member.split(':');
  return scripts.progress.run(redis, [k.jobs + id, k.leases, k.progress], member, dividend, divisor);
}

export function renew(redis: Redis, fn: string, now: number, members: string[]) {
  return scripts.renew.run(redis, [keysOf(fn).leases], now, LEASE_MS, members);
}

/** Milliseconds for which a worker leads. */
const LEADER_MS = 100;

export function look(redis: Redis, functions: string[], now = NOW, worker = '', hold = LEADER_MS) {
  const keys = functions.flatMap((fn) => {
    const { leases, scheduled, high, normal, low, wake, ticks, control, leader, plain } = keysOf(fn);
    return [leases, scheduled, high, normal, low, wake, ticks, control, leader, plain];
  });
  return scripts.look.run(redis, keys, now, worker, hold);
}

export const CANCELLED = '{"name":"JobCancelledError","message":"cancelled"}';

export function cancel(redis: Redis, fn: string, id: string, now = NOW, mark: number | '' = '') {
  const k = keysOf(fn);
  const keys = [k.jobs, k.locks, k.leases, k.scheduled, k.high, k.normal, k.low, k.channel, k.cancel];
  return scripts.cancel.run(redis, keys, now, id, mark, 'cancelled', CANCELLED);
}

/** Milliseconds that a presence holds. */
export const PRESENCE_MS = 100;

export function presence(
  redis: Redis,
  fn: string,
  worker: string,
  now: number | '' = NOW,
  hold = PRESENCE_MS,
) {
  return signed(redis, [fn], worker, now, hold).then(([count]) => count);
}

/** Of several functions, with a beat if that is said. */
export function signed(
  redis: Redis,
  functions: string[],
  worker: string,
  now: number | '' = NOW,
  hold = PRESENCE_MS,
  beat: 0 | 1 = 0,
) {
  const keys = functions.map(keysOf).flatMap(({ count, workers }) => [count, workers]);
  return scripts.presence.run(redis, keys, now, worker, hold, beat);
}

export interface UniqueJob {
  input?: string;
  options?: string;
  /** @default 'unfinished' if there is a key */
  rule?: string;
  key?: string;
}

export interface UniqueArguments extends Omit<EnqueueArguments, 'score' | 'options'> {
  score?: number | string;
  now?: number;
  /** @default `now` */
  clock?: number | '';
}

export function unique(
  redis: Redis,
  fn: string,
  jobs: readonly UniqueJob[],
  {
    queue = 'normal',
    score = '',
    sender = 'test',
    call = (calls += 1),
    memory = 60,
    mark = 7_000_000,
    now = NOW,
    clock = now,
  }: UniqueArguments = {},
) {
  const k = keysOf(fn);
  const keys = [
    k.ids,
    k.jobs,
    k[queue],
    k.channel,
    k.wake,
    k.senders + sender,
    k.unique,
    k.scheduled,
    k.locks,
  ];
  const values = jobs.flatMap(({ input = 'input', options = '', key = '', rule }) => [
    input,
    options,
    rule ?? (key === '' ? '' : 'unfinished'),
    key,
  ]);
  return scripts.unique.run(redis, keys, now, call, memory, mark, score, clock, values);
}
