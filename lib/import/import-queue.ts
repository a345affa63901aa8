import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster, Redis } from 'ioredis';
import type { GearMonkeyClient } from '../gearmonkey/client.js';
import type { KeysOf } from '../gearmonkey/core/wire/protocol.js';
import { ConfigurationError, GearMonkeyError, PayloadTooLargeError } from '../job/errors.js';
import type { RedisConnection } from '../redis/redis-connection.js';
import { askServer } from './ask-server.js';
import { Carrier, type Destinations } from './carry.js';
import {
  isBetweenJobs,
  planSchedule,
  readAgain,
  readSchedules,
  recurOptions,
  type PlannedSchedule,
  type StoredForeignSchedule,
} from './foreign-schedules.js';
import type { ForeignState, ForeignSystem, Place } from './foreign-system.js';
import { planJob, type LeftReason, type PlannedJob, type Rules } from './found-job.js';
import { ImportCount, type ImportReport } from './import-report.js';
import * as scripts from './import-scripts.js';

/** What an import does with a queue. */
export interface ImportOptions {
  readonly system: ForeignSystem;
  readonly queue: string;
  /** @default that of the system */
  readonly prefix?: string | undefined;
  readonly rules: Rules;
  /** Also failed jobs. */
  readonly failed: boolean;
  /** Only counts. */
  readonly dryRun: boolean;
  /** Most jobs of a step. */
  readonly batch: number;
  /** Ends it after the step that runs. */
  readonly signal: AbortSignal;
  readonly onProgress: (moved: number) => void;
}

/** Where jobs come from, and where they go. */
export interface ImportServers {
  readonly source: RedisConnection;
  readonly target: RedisConnection;
  readonly client: GearMonkeyClient;
  readonly keysOf: KeysOf;
  /** Milliseconds that a server may take to answer: then the import ends, and the next one goes on. */
  readonly patience: number;
}

/** A page of jobs ends after so many bytes of data. */
const PAGE_BYTES = 1024 * 1024;
/** How often it looks through a queue that changes meanwhile. */
const MAX_ROUNDS = 3;
/** What workers and producers may have moved the jobs of a list by, from when they are read until they are taken. */
const DRIFT = 1000;
/** Most entries of a list that a step looks at, for all of its jobs: Redis does nothing else meanwhile. */
const MAX_LOOKS = 1_000_000;
/** Events that a queue keeps if it does not say how many. */
const DEFAULT_EVENTS = 10_000;

/** How long a schedule is looked at whose next job is about to be added, how often, and for all schedules of a queue, in ms. */
const NEXT_JOB_MS = 2000;
const NEXT_JOB_STEP_MS = 50;
const NEXT_JOBS_MS = 30_000;

/** A batch as the journal has it. */
interface Batch {
  /** Tells it from those of other processes. */
  readonly by: string;
  readonly to: Destinations;
  readonly state?: ForeignState;
  readonly jobs?: readonly PlannedJob[];
  readonly schedule?: PlannedSchedule;
}

/**
 * The name of an import that begins with this step. Never that of one before: its numbers begin again, and the server of the
 * functions would take them for steps that were made.
 */
const nameOfNew = (): string => randomUUID();

/**
 * Moves the jobs of a queue into functions, in steps of three calls: one takes jobs out of the queue and writes them into a journal
 * beside it, one creates them, one deletes them and the journal's entry. Each may be made again, and each import first ends
 * the step that an earlier one has begun.
 */
export class QueueImport {
  private readonly base: string;
  private readonly journal: string;
  private readonly carrier: Carrier;
  private readonly id = randomUUID();
  private readonly count = new ImportCount();
  /** Next jobs of schedules that stay: only their queue makes the job after it. */
  private readonly keptNext = new Set<string>();
  /** In a dry run: schedules that would go, and next jobs that would go with them. */
  private readonly goingSchedules = new Set<string>();
  private readonly goingNext = new Set<string>();
  /** Entries of lists and sets that this round has looked at and left. */
  private stayed = 0;
  private events: number | '' = '';
  private steps = 0;
  /** What is left of the time for next jobs. */
  private waitsLeft = NEXT_JOBS_MS;

  constructor(
    private readonly servers: ImportServers,
    private readonly options: ImportOptions,
  ) {
    const { system, queue, prefix = system.prefix } = options;
    this.base = `${prefix}:${queue}:`;
    this.journal = `${this.base}gearmonkey:import`;
    this.carrier = new Carrier(servers.target, servers.keysOf, servers.patience);
  }

  /** @throws ConfigurationError if there is no such queue, or its journal can't be read */
  async run(): Promise<ImportReport> {
    const { system, queue, dryRun, signal } = this.options;
    await this.check();
    await this.endStep();
    for (let round = 1, before = -1; round <= MAX_ROUNDS && !signal.aborted; round++) {
      if (this.count.total === before) break;
      before = this.count.total;
      this.count.beginRound();
      this.stayed = 0;
      await this.lookThrough();
      if (dryRun) break;
    }
    await this.countLeft();
    if (!dryRun && !signal.aborted) await this.countLater();
    if (!dryRun && !signal.aborted) await this.close();
    return this.count.report({ system: system.name, queue, dryRun, interrupted: signal.aborted });
  }

  private ask<T>(question: (redis: Redis | Cluster) => Promise<T>): Promise<T> {
    return askServer(this.servers.source, question, this.servers.patience);
  }

  private async check(): Promise<void> {
    const { system, queue } = this.options;
    const keys = [...system.places, ...system.left].map(({ key }) => this.base + key);
    const others = ['meta', 'id', 'repeat', 'jobs', 'completed'].map((key) => this.base + key);
    const found = await this.ask((redis) => redis.exists(...keys, ...others, this.journal));
    if (found === 0)
      throw new ConfigurationError(
        `There is no queue "${queue}" of ${system.name}: no key begins with "${this.base}". Check \`--queue\`, \`--prefix\` and the server.`,
      );
    if (system.hasEvents) {
      const most = await this.ask((redis) => redis.hget(`${this.base}meta`, 'opts.maxLenEvents'));
      this.events = most !== null && /^\d{1,9}$/.test(most) ? Number(most) : DEFAULT_EVENTS;
    }
  }

  private async lookThrough(): Promise<void> {
    const { system, failed, signal } = this.options;
    if (system.hasSchedules) await this.moveSchedules();
    for (const place of system.places) {
      if (signal.aborted) return;
      if (place.state !== 'failed' || failed) await this.movePlace(place);
    }
  }

  private async movePlace(place: Place): Promise<void> {
    const length = await this.sizeOf(place);
    let cursor: string | number = 0;
    for (let looked = 0; looked <= length + this.options.batch && !this.options.signal.aborted;) {
      const page = await this.readPage(place, cursor);
      const planned = await Promise.all(page.jobs.map((job) => this.plan(job, place.state)));
      const goes = page.jobs.flatMap((job, index) => {
        const plan = planned[index];
        return typeof plan === 'object' ? [{ job, plan }] : [];
      });
      const isOurs = await this.takeAndCarry(place, Number(cursor) + page.jobs.length + DRIFT, goes);
      if (isOurs) {
        looked += Math.max(1, page.jobs.length);
        planned.forEach((plan, index) => {
          if (typeof plan !== 'object') this.stayed += 1;
          if (typeof plan === 'string') this.count.left(plan, page.jobs[index]?.id ?? '');
        });
        cursor =
          place.kind === 'set' ? page.cursor : this.after(Number(cursor), page.jobs.length, goes.length);
      }
      const isOver = place.kind === 'set' ? isOurs && page.cursor === '0' : page.jobs.length === 0;
      if (isOver) return;
    }
  }

  /** What was taken is no longer there, so that others have its place. */
  private after(cursor: number, looked: number, taken: number): number {
    return cursor + (this.options.dryRun ? looked : looked - taken);
  }

  private readPage({ key, kind }: Place, cursor: string | number): Promise<scripts.ReadPage> {
    const { system, batch, rules } = this.options;
    // JSON may be larger than what a codec makes of it.
    const largest = rules.codec === undefined || rules.codec === 'json' ? rules.largest : 4 * rules.largest;
    const looks = kind === 'list' ? Math.floor(MAX_LOOKS / (Number(cursor) + DRIFT)) : batch;
    const most = Math.max(1, Math.min(batch, looks));
    return this.ask((redis) =>
      scripts.read.run(
        redis,
        [this.base + key, this.base + system.jobs],
        ...([kind, system.layout, cursor, most, largest, PAGE_BYTES, system.fields] as const),
      ),
    );
  }

  /** Undefined for what is no job. */
  private async plan(
    job: scripts.ReadJob,
    state: ForeignState,
  ): Promise<PlannedJob | LeftReason | undefined> {
    // BullMQ before version 5 wakes workers by such an entry.
    if (/^0:\d+$/.test(job.id) && job.state === 'gone') return undefined;
    if (this.goingNext.has(job.id)) return undefined;
    if (this.keptNext.has(job.id)) return 'next-of-schedule';
    const found = this.options.system.toFound(job, state);
    if (typeof found === 'string') return found;
    if (found.schedule !== undefined && (await this.keeps(found.schedule))) return 'next-of-schedule';
    return planJob(found, this.options.rules);
  }

  /** Whether a schedule stays, or was made again meanwhile. */
  private async keeps(schedule: string): Promise<boolean> {
    if (this.goingSchedules.has(schedule)) return false;
    return (await this.ask((redis) => redis.zscore(`${this.base}repeat`, schedule))) !== null;
  }

  /** Returns false if another step had to be ended first. */
  private async takeAndCarry(
    place: Place,
    depth: number,
    goes: readonly { readonly job: scripts.ReadJob; readonly plan: PlannedJob }[],
  ): Promise<boolean> {
    const { dryRun, system } = this.options;
    if (goes.length === 0) return true;
    if (dryRun) {
      for (const { plan } of goes) this.count.moved(place.state, plan.fn);
      return true;
    }
    const to = await this.carrier.destinationsOf(goes.map(({ plan }) => plan.fn));
    const batch = this.batchOf({ to, state: place.state, jobs: goes.map(({ plan }) => plan) });
    const keys = [this.journal, this.base + place.key, this.base + system.jobs, `${this.base}priority`];
    const jobs = goes.flatMap(({ job: { id, score, fingerprint } }) => [id, score, fingerprint]);
    const journal = await this.ask((redis) =>
      scripts.take.run(redis, keys, place.kind, system.layout, depth, nameOfNew(), batch, jobs),
    );
    if (journal) await this.finishStep(journal);
    return journal === undefined || journal.batch === batch;
  }

  private batchOf(batch: Omit<Batch, 'by'>): string {
    this.steps += 1;
    return JSON.stringify({ by: `${this.id}:${this.steps}`, ...batch });
  }

  /** Ends the step that an earlier import has begun, or only counts it. */
  private async endStep(): Promise<void> {
    const fields = await this.ask((redis) => redis.hmget(this.journal, ...scripts.JOURNAL_FIELDS));
    const journal = scripts.readJournal(fields);
    if (!journal) return;
    this.count.resumed();
    if (this.options.dryRun) this.countStep(this.readBatch(journal), journal);
    else await this.finishStep(journal);
  }

  private async finishStep(journal: scripts.Journal): Promise<void> {
    const { name, number } = journal;
    const batch = this.readBatch(journal);
    const { to, schedule } = batch;
    const { system } = this.options;
    await this.checkDestinations(to);
    const carried = takenOf(batch, journal);
    if (schedule) await this.makeSchedule(schedule);
    await this.carrier.carry({ name, number: Number(number), jobs: carried });
    const keys = [this.journal, this.base + system.jobs, `${this.base}events`, `${this.base}de:`];
    const ids = carried.map(({ id }) => id);
    const isFirst = await this.ask((redis) =>
      scripts.finish.run(redis, keys, name, number, system.layout, this.events, ids),
    );
    // Another import may have ended the step, and counts it.
    if (!isFirst) return;
    this.countStep(batch, journal);
    this.options.onProgress(this.count.total);
  }

  private countStep(batch: Batch, journal: scripts.Journal): void {
    for (const { fn } of takenOf(batch, journal)) this.count.moved(batch.state ?? 'waiting', fn);
    if (batch.schedule) this.count.moved('schedules', batch.schedule.fn);
  }

  private async checkDestinations(to: Destinations): Promise<void> {
    const here = await this.carrier.destinationsOf(Object.keys(to));
    const other = Object.keys(to).find((fn) => to[fn] !== here[fn]);
    if (other === undefined) return;
    throw new ConfigurationError(
      `An import has begun to move jobs of "${this.options.queue}" to "${other}" on another server, or with another \`--hash-tag\`, or before the server lost its data. ` +
        `Run it again as it was, so that it ends this step. Its jobs are in the field "batch" of the key "${this.journal}". ` +
        `If the server has lost its data, first set its key "${this.carrier.destinationKey(other)}" to "${to[other]}".`,
    );
  }

  private readBatch({ batch }: scripts.Journal): Batch {
    try {
      return checkBatch(JSON.parse(batch));
    } catch (cause) {
      throw new ConfigurationError(
        `The key "${this.journal}" is not what an import has written. Look at it, and delete it if no import has to be continued.`,
        { cause },
      );
    }
  }

  private async moveSchedules(): Promise<void> {
    const { batch, signal } = this.options;
    this.keptNext.clear();
    const length = await this.ask((redis) => redis.zcard(`${this.base}repeat`));
    for (let looked = 0, first = 0; looked <= length && !signal.aborted;) {
      const page = await this.ask((redis) => readSchedules(redis, this.base, first, batch));
      if (page.length === 0) return;
      for (const found of page) {
        looked += 1;
        if (signal.aborted) return;
        const stored = await this.withNextJob(found);
        if (!stored || (await this.moveSchedule(stored))) continue;
        first += 1;
        const stays = !this.goingSchedules.has(stored.key);
        if (stays && stored.job) this.keptNext.add(stored.job.id);
      }
    }
  }

  /** The schedule, once its next job is there, or none will come soon: then no worker runs its jobs. Undefined if it is gone. */
  private async withNextJob(found: StoredForeignSchedule): Promise<StoredForeignSchedule | undefined> {
    const { dryRun, signal } = this.options;
    let stored: StoredForeignSchedule | undefined = found;
    for (let waited = 0; waited < NEXT_JOB_MS && this.waitsLeft > 0; waited += NEXT_JOB_STEP_MS) {
      if (dryRun || signal.aborted || !stored || !isBetweenJobs(stored, await this.now())) break;
      await sleep(NEXT_JOB_STEP_MS);
      this.waitsLeft -= NEXT_JOB_STEP_MS;
      stored = await this.ask((redis) => readAgain(redis, this.base, found));
    }
    return stored;
  }

  /** By the clock of the queue's server: that of this machine may be wrong. */
  private async now(): Promise<number> {
    const [seconds, microseconds] = await this.ask((redis) => redis.time());
    return Number(seconds) * 1000 + Math.floor(Number(microseconds) / 1000);
  }

  /** Returns whether it has left its queue. */
  private async moveSchedule(stored: StoredForeignSchedule): Promise<boolean> {
    const planned = await this.planSchedule(stored);
    if (typeof planned === 'string') {
      this.count.left(planned, stored.key);
      return false;
    }
    if (this.options.dryRun) {
      this.count.moved('schedules', planned.fn);
      this.goingSchedules.add(stored.key);
      if (planned.job !== undefined) this.goingNext.add(planned.job);
      return false;
    }
    return this.takeSchedule(stored, planned);
  }

  private async planSchedule(stored: StoredForeignSchedule): Promise<PlannedSchedule | LeftReason> {
    const { queue, rules } = this.options;
    const planned = await planSchedule(stored, queue, rules.functionOf, await this.now());
    return typeof planned === 'string' ? planned : ((await this.whyKept(planned)) ?? planned);
  }

  /** Nothing is taken that can't be made: its step could never be ended. */
  private async whyKept({ options, ...schedule }: PlannedSchedule): Promise<LeftReason | undefined> {
    if (!options) return undefined;
    const { schedules } = this.servers.client;
    if ((await schedules.get(options.id)) !== null) return 'schedule-here';
    if (Buffer.byteLength(schedule.data) > this.options.rules.largest) return 'too-large';
    try {
      await schedules.check(schedule.fn, recurOptions({ ...schedule, options }));
      return undefined;
    } catch (error) {
      if (!(error instanceof GearMonkeyError)) throw error;
      return error instanceof PayloadTooLargeError ? 'too-large' : 'unfit';
    }
  }

  private async takeSchedule(
    { key, score }: StoredForeignSchedule,
    schedule: PlannedSchedule,
  ): Promise<boolean> {
    const { job = '' } = schedule;
    const batch = this.batchOf({ to: await this.carrier.destinationsOf([schedule.fn]), schedule });
    const [repeat, delayed] = [`${this.base}repeat`, `${this.base}delayed`];
    const keys = [this.journal, repeat, `${repeat}:${key}`, delayed, this.base + job];
    const journal = await this.ask((redis) =>
      scripts.takeSchedule.run(redis, keys, nameOfNew(), batch, key, score, job),
    );
    if (journal) await this.finishStep(journal);
    return journal?.batch === batch;
  }

  /** Made again, it changes nothing. The next job, which went with it, is created also if its time has passed meanwhile. */
  private async makeSchedule({ options, ...schedule }: PlannedSchedule): Promise<void> {
    if (!options) return;
    const since = schedule.job === undefined ? undefined : options.from;
    const { schedules } = this.servers.client;
    await schedules.put(schedule.fn, recurOptions({ ...schedule, options }), { since });
  }

  private async countLeft(): Promise<void> {
    for (const { reason, key, kind } of this.options.system.left) {
      const size = await this.sizeOf({ key, kind });
      if (size > 0) this.count.leftMany(reason, size);
    }
    const failed = this.options.system.places.find(({ state }) => state === 'failed');
    const size = failed && !this.options.failed ? await this.sizeOf(failed) : 0;
    if (size > 0) this.count.leftMany('failed', size);
  }

  /** What workers and producers have put where it had looked already, or changed while it was looked at. */
  private async countLater(): Promise<void> {
    const { system, failed } = this.options;
    const places = system.places.filter(({ state }) => state !== 'failed' || failed);
    const sizes = await Promise.all(places.map((place) => this.sizeOf(place)));
    const later = sizes.reduce((sum, size) => sum + size, 0) - this.stayed;
    if (later > 0) this.count.leftMany('later', later);
  }

  private sizeOf({ key, kind }: Pick<Place, 'key' | 'kind'>): Promise<number> {
    const command = { list: 'llen', zset: 'zcard', set: 'scard' } as const;
    return this.ask((redis) => redis[command[kind]](this.base + key));
  }

  private async close(): Promise<void> {
    const name = await this.ask((redis) => redis.hget(this.journal, 'name'));
    if (name !== null) await this.ask((redis) => scripts.close.run(redis, [this.journal], name));
    await this.carrier.forget();
  }
}

/** @throws TypeError */
function checkBatch(batch: unknown): Batch {
  const { to, jobs = [], schedule = {} } = batch as Record<string, unknown>;
  const objects = [to, schedule, ...(jobs as Iterable<unknown>)];
  if (objects.every((each) => typeof each === 'object' && each !== null)) return batch as Batch;
  throw new TypeError('It has other parts.');
}

function takenOf({ jobs = [] }: Batch, { taken }: scripts.Journal): readonly PlannedJob[] {
  return jobs.filter((_, index) => taken[index] === '1');
}
