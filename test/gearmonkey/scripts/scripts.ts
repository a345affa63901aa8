import * as edits from '../../../lib/gearmonkey/features/edits/edit-scripts.js';
import { unique as uniqueScript } from '../../../lib/gearmonkey/features/unique/create-unique.js';
import type { Redis } from 'ioredis';
import { keysOf, type KeptText } from '../../../lib/gearmonkey/core/wire/protocol.js';
import * as limitScripts from '../../../lib/gearmonkey/features/limits/limit-scripts.js';
import * as scripts from '../../../lib/gearmonkey/core/wire/scripts.js';

/** Virtual time: what the scripts are told that it is, in ms. */
export const NOW = 1_000_000;
export const LEASE_MS = 100;

export interface ClaimArguments {
  /** '' is the server's time. */
  now?: number | '';
  slots?: number;
  maxStalls?: number;
  outcomes?: scripts.OutcomeArguments;
  largestInput?: number;
  recover?: number;
  lease?: number;
  /** The key that gets the claims. */
  noted?: string;
  /** 1 for a worker that makes the keys of jobs that have none. */
  files?: 0 | 1;
  kept?: KeptText;
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
    files = 0,
    kept = '',
  }: ClaimArguments = {},
) {
  const k = keysOf(fn);
  const keys = [k.jobs, k.locks, k.leases, k.scheduled, k.high, k.normal, k.low, k.wake, k.channel];
  keys.push(k.control);
  if (noted !== undefined) keys.push(noted);
  return scripts.claim.run(
    redis,
    keys,
    now,
    lease,
    slots,
    maxStalls,
    recover,
    largestInput,
    files,
    kept,
    outcomes,
  );
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

export interface LimitedArguments {
  now?: number;
  rules?: string;
  shared?: string;
  priority?: string;
  score?: number | '';
  onFull?: string;
  sender?: string;
  call?: number;
}

/** Enqueues one job for each key, with the key as its input. */
export function enqueueLimited(
  redis: Redis,
  fn: string,
  jobKeys: string[],
  {
    now = NOW,
    rules = '1:::fair:',
    shared = '',
    priority = 'normal',
    score = '',
    onFull = 'wait',
    sender = 'test',
    call = (calls += 1),
  }: LimitedArguments = {},
) {
  const k = keysOf(fn);
  const keys = [k.ids, k.jobs, k.locks, k.leases, k.channel, k.cancel, k.wake, k.senders + sender];
  const jobs = jobKeys.flatMap((key) => [key, '', key]);
  return limitScripts.enqueueLimited.run(
    redis,
    [...keys, k.control, k.limits],
    now,
    call,
    60,
    0,
    score,
    priority,
    now,
    rules,
    shared,
    onFull,
    jobs,
  );
}

export function setLimit(
  redis: Redis,
  fn: string,
  field: 'limit' | 'override' | 'rest',
  rules: string,
  shared = '',
) {
  const { control, limits, wake } = keysOf(fn);
  return limitScripts.setLimit.run(redis, [control, limits, wake], field, rules, shared);
}

export function readLimits(redis: Redis, fn: string, now = NOW, key?: string) {
  const { control, limits, jobs, wake } = keysOf(fn);
  return limitScripts.readLimits.run(
    redis,
    [control, limits, jobs, wake],
    now,
    100,
    key === undefined ? 0 : 1,
    key ?? '',
  );
}

export function progress(redis: Redis, fn: string, member: string, dividend: number, divisor: number) {
  const k = keysOf(fn);
  const [id = ''] = member.split(':');
  return scripts.progress.run(redis, [k.jobs + id, k.leases, k.progress], member, dividend, divisor);
}

export function renew(redis: Redis, fn: string, now: number, members: string[]) {
  return scripts.renew.run(redis, [keysOf(fn).leases, keysOf(fn).jobs], now, LEASE_MS, '', members);
}

/** Milliseconds for which a worker leads. */
const LEADER_MS = 100;

export function look(
  redis: Redis,
  functions: string[],
  now = NOW,
  worker = '',
  hold = LEADER_MS,
  every?: number,
) {
  const keys = functions.flatMap((fn) => {
    const { leases, scheduled, high, normal, low, wake, ticks, control, members, leader, plain } = keysOf(fn);
    return [leases, scheduled, high, normal, low, wake, ticks, control, members, leader, plain];
  });
  return scripts.look.run(redis, keys, now, worker, hold, every === undefined ? [] : [every]);
}

export const CANCELLED = '{"name":"JobCancelledError","message":"cancelled"}';

/** @param spares ARGV that there may be */
export function cancel(
  redis: Redis,
  fn: string,
  id: string,
  now = NOW,
  mark: number | '' = '',
  spares: readonly 1[] = [],
) {
  const k = keysOf(fn);
  const keys = [k.jobs, k.locks, k.leases, k.scheduled, k.high, k.normal, k.low, k.channel, k.cancel];
  keys.push(k.wake);
  return edits.cancel.run(redis, keys, now, id, mark, 'cancelled', CANCELLED, spares);
}

/** Milliseconds that a presence holds. */
export function expire(redis: Redis, fn: string, id: string, now = NOW) {
  const { jobs, locks, channel } = keysOf(fn);
  return scripts.expire.run(redis, [jobs, locks, channel], now, id, '');
}

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
  return uniqueScript.run(redis, keys, now, call, memory, mark, score, clock, values);
}
