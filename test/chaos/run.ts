import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../support/until.js';
import { writtenJobs } from './append-only-file.js';
import { check } from './checker.js';
import { DoubledIds } from './doubled-ids.js';
import { ClaimLog } from './claim-log.js';
import type { Violation } from './violation.js';
import { injectAll, type Injected } from './faults.js';
import { gather, type Recorded } from './gather.js';
import type { CountSeen, History, StatisticsSeen } from './history.js';
import { readIndexes, readStatistics } from './indexes.js';
import { Operator } from './operator.js';
import { ATTEMPTS, HANDLED, ODD, PLAIN, SHARED } from './jobs.mjs';
import { leftoverKeys, unfinished } from './leftovers.js';
import type { Role } from './processes.js';
import { planFaults, toLine, type Fault, type FaultKind } from './schedule.js';
import { Stage } from './stage.js';

export interface RunOptions {
  readonly seed: number;
  /** Milliseconds in which faults begin. */
  readonly duration: number;
  /** Jobs that our producers create at least. */
  readonly jobs: number;
  /** Milliseconds. @default the package's own */
  readonly lease?: number;
  /** Milliseconds between faults at most. */
  readonly calm: number;
  /** Calls at once of each producer, time and again. */
  readonly calls: { readonly burst: number; readonly every: number };
  /** Bytes of a large payload: it has to pass the slowest line within a lease. */
  readonly largest: number;
  readonly kinds?: readonly FaultKind[];
  /** Keep histories and logs also where nothing was violated. @default false */
  readonly keep?: boolean;
  /** Told of how it goes, now and then. */
  readonly onProgress?: (line: string) => void;
}

export interface RunResult {
  readonly seed: number;
  /** Milliseconds in which faults began. */
  readonly duration: number;
  readonly faults: readonly Fault[];
  readonly injected: readonly Injected[];
  readonly history: History;
  readonly violations: readonly Violation[];
  /** Where the processes' histories and logs are, if anything was violated. */
  readonly folder?: string;
}

const WORKERS = 3;
const PRODUCERS = 2;
const DEFAULT_LEASE_MS = 8000;
const MAX_STALLS = 3;
const ENQUEUE_TIMEOUT_MS = 5000;
/** A producer is idle while the server is away, so it is asked for more than its share. */
const RATE_SURPLUS = 1.2;
/** The part of the workers' time that handlers may hold the event loop. */
const BLOCKED_PART = 0.08;
/** Within this time after the last fault `count:{FN}` tells the truth. */
const COUNT_MS = 35_000;
/** By how many ms the clocks of processes are wrong, by role and number: two hours fast, three slow. */
const CLOCKS: Readonly<Record<Role, readonly number[]>> = {
  worker: [0, 7_200_000],
  producer: [0, -10_800_000],
};
/** How long a worker that is stopped lets jobs go on. It differs by life, since no value is the worst for all. */
const SHUTDOWN_TIMEOUTS = ['3s', '50ms', 1] as const;
/** The part of the jobs that throw unusual values. */
const HOSTILE_PART = 0.005;
/** So many jobs with large payloads at most: the server keeps all of them. */
const LARGE_JOBS = 60;
const DRAIN_MS = 120_000;
const PROGRESS_MS = 10_000;
/** Plain clients may queue an id again whose reply they have lost, and a hostile one does what it likes. */
const OWN_FUNCTIONS = Object.keys(HANDLED).filter((fn) => fn !== SHARED && fn !== ODD);
const FUNCTIONS = [...Object.keys(HANDLED), PLAIN];

/** A run from an empty server to the verdict. */
export async function run(options: RunOptions): Promise<RunResult> {
  const faults = planFaults({ ...options, lease: options.lease ?? DEFAULT_LEASE_MS });
  const injected: Injected[] = [];
  const stage = await openStage(options);
  let violations: Violation[] | undefined;
  let operator: Operator | undefined;
  // What a hostile client has spoilt can't be counted for a moment.
  const tell = () => void report(stage, injected, options).catch(() => undefined);
  const progress = setInterval(tell, PROGRESS_MS);
  try {
    await stage.start();
    operator = new Operator(stage.server.url, options.seed);
    const doubled = new DoubledIds(stage.observer.redis, OWN_FUNCTIONS);
    const ground = { ...stage, redis: stage.observer.redis };
    await injectAll(ground, faults, (fault) => injected.push(fault));
    const history = await bringToEnd(stage, operator, doubled, options, injected);
    violations = check(history);
    const kept = options.keep || violations.length > 0 ? { folder: stage.folder } : {};
    return { seed: options.seed, duration: options.duration, faults, injected, history, violations, ...kept };
  } catch (error) {
    const lines = [
      `The run of seed ${options.seed} did not come to its end; see ${stage.folder}`,
      ...faults.map(toLine),
    ];
    throw new Error(lines.join('\n'), { cause: error });
  } finally {
    clearInterval(progress);
    await operator?.stop();
    await stage.close({ keepFolder: options.keep === true || violations?.length !== 0 });
  }
}

function openStage({ seed, duration, jobs, lease, calls, largest }: RunOptions): Promise<Stage> {
  const ms = lease ?? DEFAULT_LEASE_MS;
  const blocking = (BLOCKED_PART * WORKERS * duration) / (1.25 * ms * jobs);
  const rate = (RATE_SURPLUS * jobs * 1000) / duration / PRODUCERS;
  return Stage.open({
    workers: WORKERS,
    producers: PRODUCERS,
    settings: (role, index, life) => ({
      clock: CLOCKS[role][index] ?? 0,
      ...(role === 'worker'
        ? { lease, shutdownTimeout: SHUTDOWN_TIMEOUTS[life % SHUTDOWN_TIMEOUTS.length] }
        : {
            ...{ seed: seed * 1000 + index * 100 + life, rate, lease: ms, blocking, calls },
            ...{ large: { part: LARGE_JOBS / jobs, bytes: largest }, hostile: HOSTILE_PART },
          }),
    }),
  });
}

/** The faults are over: everything has to come to its end, and to the truth. */
async function bringToEnd(
  stage: Stage,
  operator: Operator,
  doubled: DoubledIds,
  { jobs, lease = DEFAULT_LEASE_MS }: RunOptions,
  disturbances: readonly Injected[],
): Promise<History> {
  const { redis } = stage.observer;
  await stage.everybodyReady();
  const calm = performance.now() + COUNT_MS;
  await until(async () => (await created(stage)) >= jobs, { timeout: DRAIN_MS, message: 'Too few jobs' });
  const counts = await countsByThen(stage, calm);
  await operator.stop();
  await stage.stopLoad();
  await drained(() => unfinished(redis, FUNCTIONS));
  await sleep(1000);
  const readings = await stage.observer.readAll(FUNCTIONS);
  await sleep(lease + 1000);
  const laterReadings = await stage.observer.readAll(FUNCTIONS);
  const indexes = await readIndexes(stage.server.url, redis, FUNCTIONS);
  await stage.stopWorkers();
  const statistics: StatisticsSeen = {
    counted: await readStatistics(stage.server.url, Object.keys(HANDLED)),
    disturbances,
  };
  await until(async () => (await leftoverKeys(redis)).length === 0, { timeout: 5000 }).catch(() => undefined);
  const leftovers = await leftoverKeys(redis);
  const limited = new ClaimLog();
  const written = await writtenJobs(stage.server.directory, limited);
  return historyOf(stage, lease, {
    operator: operator.seen,
    doubled: await doubled.stop(),
    counts,
    readings,
    laterReadings,
    indexes,
    statistics,
    leftovers,
    away: disturbances.flatMap(({ kind, began, ended }) =>
      kind === 'kill-redis' ? [[began, ended] as const] : [],
    ),
    written,
    limited,
  });
}

/** Waits until none is left, as long as there are fewer from time to time: a server that was away may have left very many. */
async function drained(left: () => Promise<number>): Promise<void> {
  let least = Infinity;
  let since = performance.now();
  for (;;) {
    const count = await left().catch(() => least);
    if (count < least) [least, since] = [count, performance.now()];
    if (count === 0 || performance.now() - since > DRAIN_MS) return;
    await sleep(20);
  }
}

type Ending = Pick<
  History,
  | 'operator'
  | 'doubled'
  | 'counts'
  | 'readings'
  | 'laterReadings'
  | 'indexes'
  | 'statistics'
  | 'leftovers'
  | 'away'
  | 'written'
  | 'limited'
>;

function historyOf(stage: Stage, lease: number, ending: Ending): History {
  const { plain, observer } = stage;
  const recorded: Recorded = gather(stage.members.flatMap(({ histories }) => histories));
  return {
    lease,
    maxStalls: MAX_STALLS,
    enqueueTimeout: ENQUEUE_TIMEOUT_MS,
    attempts: ATTEMPTS,
    ...recorded,
    enqueued: [...recorded.enqueued, ...plain.enqueued],
    finishes: observer.finishes,
    firstReadings: withPlainReadings(observer.firstReadings, plain.seen),
    plain: plain.trouble,
    crashes: stage.members.flatMap(({ crashes }) => crashes),
    ...ending,
  };
}

/** What a plain client saw of its job when its wait was over is as good as what we read. */
function withPlainReadings(
  own: History['firstReadings'],
  seen: Stage['plain']['seen'],
): History['firstReadings'] {
  const plain = seen.map((reading) => [`${reading.fn}#${reading.id}`, reading] as const);
  return new Map([...own, ...plain]);
}

/** As soon as they are right, or when they have to be. */
async function countsByThen(stage: Stage, deadline: number): Promise<CountSeen[]> {
  for (;;) {
    const counts = await countsSeen(stage, `${COUNT_MS} ms after the last fault`);
    if (performance.now() >= deadline || counts.every(({ expected, seen }) => expected === seen))
      return counts;
    await sleep(100);
  }
}

async function countsSeen({ observer, plain }: Stage, when: string): Promise<CountSeen[]> {
  return Promise.all(
    FUNCTIONS.map(async (fn) => {
      const ours = fn === PLAIN ? 0 : WORKERS;
      const expected = ours + (plain.functions.includes(fn) ? 1 : 0);
      return { fn, expected, seen: Number(await observer.redis.get(`count:${fn}`)), when };
    }),
  );
}

/** Jobs of functions that only our producers use; of the shared ones a few are the plain clients'. */
async function created({ observer }: Stage): Promise<number> {
  const ids = await observer.redis.mget(Object.keys(HANDLED).map((fn) => `uid:${fn}`));
  return ids.reduce((sum, id) => sum + Number(id ?? 0), 0);
}

async function report(
  stage: Stage,
  injected: readonly Injected[],
  { onProgress }: RunOptions,
): Promise<void> {
  if (!onProgress) return;
  const waiting = await unfinished(stage.observer.redis, FUNCTIONS);
  onProgress(
    `${await created(stage)} jobs created, ${stage.observer.finishes.length} finishes heard, ${waiting} waiting or running, ${injected.length} faults so far`,
  );
}
