import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { setTimeout as sleep } from 'node:timers/promises';
import { writtenJobs } from '../chaos/append-only-file.js';
import { check } from '../chaos/checker.js';
import { ClaimLog } from '../chaos/claim-log.js';
import type { Violation } from '../chaos/violation.js';
import { nameOf } from '../chaos/fields.js';
import { gather } from '../chaos/gather.js';
import {
  keyOf,
  type Enqueued,
  type Finish,
  type History,
  type LimitedClaim,
  type Reading,
  type Written,
} from '../chaos/history.js';
import { ATTEMPTS, HANDLED } from '../chaos/jobs.mjs';
import { leftoverKeys, unfinished } from '../chaos/leftovers.js';
import { Member, type Role, type Way } from '../chaos/processes.js';
import { flowKey } from '../../lib/gearmonkey/core/wire/protocol.js';
import { until } from '../support/until.js';
import type { Setting } from './setting.js';

export interface FailoverOptions {
  readonly seed: number;
  /** Jobs a second that each of two producers creates. */
  readonly rate: number;
  /** Milliseconds of load before the fault, and after it. */
  readonly before: number;
  readonly after: number;
  /** How many jobs there are at least before the fault: fewer would be no load. A busy machine gets its time. */
  readonly jobs: number;
  /** Milliseconds between the replica's being cut off and the master's death: its lag. */
  readonly lag: number;
  /** More module options, of producers and workers. */
  readonly module?: object;
}

/** What the replica had of a function when it was cut off. */
export interface Received {
  readonly lastId: number;
  /** Ids of flows that had not begun there. Such jobs are removed: the replica has not received their flow. */
  readonly unbegun: ReadonlySet<string>;
}

export interface FailoverResult {
  readonly history: History;
  readonly violations: readonly Violation[];
  /** When the master died, and when another one was there; in ms since 1970. */
  readonly killed: number;
  readonly failedOver: number;
  /** Of each function on the master that died. */
  readonly received: ReadonlyMap<string, Received>;
  /** Acknowledged, and not there. */
  readonly lost: readonly Enqueued[];
  /** From the failover to the next start of a job on the new master. */
  readonly resumed: number;
  readonly folder: string;
}

const WORKERS = 3;
const PRODUCERS = 2;
const LEASE_MS = 2000;
const MAX_STALLS = 3;
const ENQUEUE_TIMEOUT_MS = 5000;
const READY_MS = 30_000;
const LOAD_MS = 30_000;
const DRAIN_MS = 60_000;
const COUNT_MS = 15_000;
const LEFT_MS = 5000;
/**
 * From the start of a run: what has not come to its end by then is judged as it is. A busy machine gets more time for each wait,
 * and all of them together would outlast the test, which would not say what was waited for.
 */
const JUDGED_MS = 110_000;
/** A part of the jobs that hold the event loop for longer than a lease: the keeper's thread is at work too. */
const BLOCKING = 0.0005;
export const FUNCTIONS: readonly string[] = Object.keys(HANDLED);
/** The time in `scheduled` of jobs that wait for others. */
const NEVER = 9_000_000_000;
const NO_WAY: Way = { url: '' };

/** Load, a master that dies with its replica lagging behind, and the checker's verdict. */
export async function runFailover(setting: Setting, options: FailoverOptions): Promise<FailoverResult> {
  const deadline = performance.now() + JUDGED_MS;
  const folder = await mkdtemp(join(tmpdir(), 'gearmonkey-failover-'));
  const module = { ...setting.module, ...options.module };
  const settings = (role: Role, index: number, life: number) => ({
    module,
    lease: LEASE_MS,
    ...(role === 'producer'
      ? { seed: options.seed * 100 + index * 10 + life, rate: options.rate, blocking: BLOCKING }
      : {}),
  });
  const members = (role: Role, count: number) =>
    Array.from(
      { length: count },
      (_, i) => new Member(role, `${role}${i}`, NO_WAY, folder, (life) => settings(role, i, life)),
    );
  const [workers, producers] = [members('worker', WORKERS), members('producer', PRODUCERS)];
  const finishes = listen(setting);
  try {
    for (const member of [...workers, ...producers]) member.start();
    const ready = () => [...workers, ...producers].every((member) => member.isReady);
    await until(ready, { timeout: READY_MS, message: `Not all processes have started, see ${folder}` });
    const times = await fail(setting, options);
    const ended = await bringToEnd(setting, { workers, producers, finishes }, deadline);
    const history = { ...ended, failedOver: times.failedOver };
    const verdict = { ...times, history, violations: check(history), lost: lostOf(history), folder };
    return { ...verdict, resumed: resumedAfter(setting, history, times.failedOver) };
  } finally {
    await Promise.all([...workers, ...producers].map((member) => member.retire('SIGKILL')));
    setting.ear.disconnect();
  }
}

/** What a failed run's folder is kept for has been read. */
export async function forget({ folder }: FailoverResult): Promise<void> {
  await rm(folder, { recursive: true, force: true });
}

function listen({ ear, keysOf }: Setting): Finish[] {
  const finishes: Finish[] = [];
  const names = new Map(FUNCTIONS.map((fn) => [keysOf(fn).channel, fn]));
  ear.on('message', (channel: string, message: string) => {
    const [event, id = ''] = message.split(':');
    if (event === 'finish') finishes.push({ fn: names.get(channel) ?? channel, id, at: Date.now() });
  });
  void ear.subscribe(...names.keys());
  return finishes;
}

async function fail(setting: Setting, { before, lag, after, jobs }: FailoverOptions) {
  await sleep(before);
  const isLoad = async () => (await createdJobs(setting)) >= jobs;
  await until(isLoad, { timeout: LOAD_MS, message: `There are no ${jobs} jobs yet` });
  const received =
    lag > 0 ? await readReceived(setting, await setting.cutReplica()) : new Map<string, Received>();
  await sleep(lag);
  const killed = Date.now();
  await setting.failover();
  const failedOver = Date.now();
  await sleep(after);
  return { received, killed, failedOver };
}

async function createdJobs({ redis, keysOf }: Setting): Promise<number> {
  const ids = await Promise.all(FUNCTIONS.map((fn) => redis.get(keysOf(fn).ids)));
  return ids.reduce((sum, id) => sum + Number(id), 0);
}

async function readReceived({ keysOf, isHit }: Setting, redis: Redis): Promise<Map<string, Received>> {
  const received = new Map<string, Received>();
  for (const fn of FUNCTIONS.filter(isHit)) {
    const { ids, jobs, scheduled } = keysOf(fn);
    const unbegun = new Set<string>();
    for (const id of await redis.zrangebyscore(scheduled, NEVER, '+inf'))
      if (!(await isBegun(redis, await redis.hget(jobs + id, 'flow')))) unbegun.add(id);
    received.set(fn, { lastId: Number(await redis.get(ids)), unbegun });
  }
  return received;
}

/** @param flow as it stands in its jobs */
async function isBegun(redis: Redis, flow: string | null): Promise<boolean> {
  const [, name = '', wire = ''] = /^([^:]*):(.*)$/s.exec(flow ?? '') ?? [];
  return (await redis.hexists(flowKey(`job:${wire}:`, name), 'total')) === 1;
}

interface Cast {
  readonly workers: readonly Member<Way>[];
  readonly producers: readonly Member<Way>[];
  readonly finishes: readonly Finish[];
}

/** The fault is over: everything has to come to its end, and to the truth. */
async function bringToEnd(
  setting: Setting,
  { workers, producers, finishes }: Cast,
  deadline: number,
): Promise<History> {
  const { redis } = setting;
  const names = FUNCTIONS.map((fn) => wireName(setting, fn));
  const left = Math.max(0, Math.ceil(deadline - performance.now()));
  await Promise.all(producers.map((producer) => producer.retire('SIGTERM', left)));
  const comes = (timeout: number, end: () => Promise<boolean>) =>
    until(end, { timeout, deadline }).catch(() => undefined);
  await comes(DRAIN_MS, async () => (await unfinished(redis, names)) === 0);
  const count = (fn: string) => countOf(setting, fn);
  await comes(COUNT_MS, async () => (await Promise.all(FUNCTIONS.map(count))).every(isRight));
  const counts = await Promise.all(FUNCTIONS.map(count));
  const readings = await readAll(setting);
  await sleep(LEASE_MS / 2);
  const laterReadings = await readAll(setting);
  await Promise.all(workers.map((worker) => worker.retire('SIGTERM')));
  const masters = await setting.masters();
  const leftovers = async () =>
    (await Promise.all(masters.map((master) => leftoverKeys(master.redis)))).flat();
  await comes(LEFT_MS, async () => (await leftovers()).length === 0);
  const cast = [...workers, ...producers];
  return {
    lease: LEASE_MS,
    maxStalls: MAX_STALLS,
    enqueueTimeout: ENQUEUE_TIMEOUT_MS,
    attempts: ATTEMPTS,
    ...gather(cast.flatMap(({ histories }) => histories)),
    finishes,
    firstReadings: readings,
    readings,
    laterReadings,
    ...(await written(setting)),
    counts,
    leftovers: await leftovers(),
    plain: { takes: new Map(), repeated: new Set() },
    crashes: cast.flatMap(({ crashes }) => crashes),
  };
}

/** The name as it stands in keys. */
function wireName({ keysOf }: Setting, fn: string): string {
  return keysOf(fn).leases.slice('lease:'.length);
}

type Count = History['counts'][number];

async function countOf({ redis, keysOf }: Setting, fn: string): Promise<Count> {
  return {
    fn,
    expected: WORKERS,
    seen: Number(await redis.get(keysOf(fn).count)),
    when: 'after the failover',
  };
}

const isRight = ({ expected, seen }: Count) => seen === expected;

async function readAll({ redis, keysOf }: Setting): Promise<Map<string, Reading>> {
  const all = new Map<string, Reading>();
  for (const fn of FUNCTIONS) {
    const { ids, jobs } = keysOf(fn);
    const last = Number((await redis.get(ids)) ?? 0);
    const read = async (id: string) => ({ fn, id, fields: await redis.hgetall(jobs + id) });
    for (const reading of await Promise.all(Array.from({ length: last }, (_, i) => read(String(i + 1))))) {
      if (Object.keys(reading.fields).length > 0) all.set(keyOf(reading), reading);
    }
  }
  return all;
}

/** The logs of those that are masters in the end have what has stayed of the one that died. */
async function written(setting: Setting): Promise<Pick<History, 'written' | 'limited'>> {
  const names = new Map(FUNCTIONS.map((fn) => [wireName(setting, fn), fn]));
  const all = new Map<string, Written>();
  const claims: LimitedClaim[] = [];
  const ended = new Map<string, number>();
  for (const { server } of await setting.masters()) {
    const log = new ClaimLog((wire) => names.get(wire) ?? wire);
    const jobs = await writtenJobs(server.directory, log);
    claims.push(...log.claims);
    for (const [job, instant] of log.ended) ended.set(job, instant);
    for (const [key, job] of jobs) {
      const [, wire = '', id = ''] = /^(.*)#(.*)$/s.exec(key) ?? [];
      all.set(keyOf({ fn: names.get(wire) ?? wire, id }), job);
    }
  }
  return { written: all, limited: { claims, ended } };
}

/** By what is in their inputs: ids may have been given a second time. */
function lostOf({ enqueued, readings }: History): Enqueued[] {
  const there = new Set([...readings.values()].map(({ fields }) => nameOf(fields)));
  return enqueued.filter(({ n }) => !there.has(n));
}

function resumedAfter({ isHit }: Setting, { starts }: History, failedOver: number): number {
  const later = starts.filter(({ fn, at }) => isHit(fn) && at >= failedOver).map(({ at }) => at);
  return Math.min(...later) - failedOver;
}
