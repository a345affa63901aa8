import { messageOf } from '../../job/errors.js';
import type { Claim, FreeSlots, Outcome } from '../../job/job-source.js';
import { Membership, type MemberOptions } from '../membership/membership.js';
import type { Poll } from '../rows/polled-targets.js';
import { GONE, RowsInHand } from '../rows/rows-in-hand.js';
import { Targets } from '../rows/targets.js';
import type { AcceptedJob } from '../storage/accepted-job.js';
import type { Database } from '../storage/database.js';
import { nowInSeconds } from '../storage/row-writer.js';
import type { ManualResults } from '../vocabulary/operations.js';
import { ClaimedRows } from './claimed-rows.js';
import { acceptUnlessRefused } from '../rows/accept-unless-refused.js';
import type { AcceptedRows } from '../rows/accepted-rows.js';
import type { FetchedRows } from '../storage/acceptance.js';
import type { JobTable } from '../storage/job-table.js';
import type { JobdLog } from '../vocabulary/log.js';
import { DatabaseSetupError } from '../storage/errors.js';

export interface WorkerRowsOptions extends MemberOptions {
  readonly input?: string;
  /** Milliseconds. */
  readonly manualPatience: number;
}

/** A manual row waits until its handler claims it. */
const NONE_AT_ONCE = {
  begins: () => false,
  beginsIn: () => [],
  giveUp: () => undefined,
  settle: () => undefined,
};
const CLOSING = 'the app is shutting down';
const LAST_WRITES_MS = 2000;

/** Rows on their way through an app: claimed by handlers in the state `running`, settled, or given back. */
export class WorkerRows {
  readonly targets = new Targets(new Map());
  private readonly rows: RowsInHand;
  private readonly claims: ClaimedRows;
  private readonly wakeUp = new WakeUp();

  private constructor(
    private readonly member: Membership,
    private readonly options: WorkerRowsOptions,
    private readonly onLost: (claim: Claim) => void,
  ) {
    const { log, manualPatience, input } = options;
    const serves = (target: string) => this.targets.has(target);
    const consumer = {
      take: (job: AcceptedJob) => this.targets.enqueue(job),
      lose: (job: AcceptedJob) => this.lose(job),
      wake: () => this.wakeUp.ring(),
      places: () => ({ ...NONE_AT_ONCE, serves }),
    };
    const times = { manualPatience, lastWrites: LAST_WRITES_MS };
    this.rows = new RowsInHand(member.table, this.targets, consumer, { ...times, log, refusal: CLOSING });
    this.claims = new ClaimedRows(member.table, member.writer, input);
  }

  /** @throws DatabaseSetupError */
  static async open(options: WorkerRowsOptions, onLost: (claim: Claim) => void): Promise<WorkerRows> {
    const member = await Membership.open(options);
    await checkInput(member, options.input);
    const worker = new WorkerRows(member, options, onLost);
    await member.enter({
      onReleased: () => worker.poll(),
      onBeat: () => worker.rows.reconcile(),
      onReborn: () => worker.rows.loseAll(),
    });
    member.database.whenBack(() => worker.poll());
    return worker;
  }

  get database(): Database {
    return this.member.database;
  }

  get waitingClients(): number {
    return this.rows.waitingClients;
  }

  /** True if some of them are new. */
  serve(targets: readonly string[]): boolean {
    const added = targets.filter((target) => !this.targets.has(target));
    for (const target of added) this.targets.add(target, 1);
    this.poll(added);
    return added.length > 0;
  }

  poll(targets?: readonly string[]): void {
    this.rows.poll(targets);
  }

  holds(claim: Claim): boolean {
    return this.claims.holds(claim);
  }

  /** Waits through outages, and never rejects. */
  async claim(slots: FreeSlots, signal: AbortSignal): Promise<readonly Claim[]> {
    const ending = AbortSignal.any([signal, this.rows.signal]);
    const ignoreSlots = slots.onFree(() => this.wakeUp.ring());
    try {
      while (!ending.aborted) {
        const { count } = this.wakeUp;
        // A target's concurrency is what runs plus its handler's free slots.
        for (const target of this.targets.names) this.targets.setRoom(target, slots.of(target));
        const claims = [...(await this.claimManual(ending)), ...(await this.claimWaiting(slots, ending))];
        if (claims.length > 0) return claims;
        // Returns at once if there was a wake-up while the database was asked.
        await this.wakeUp.next(count, ending);
      }
      return [];
    } finally {
      ignoreSlots();
    }
  }

  /** Whether the outcome was accepted. */
  async settle(outcome: Outcome): Promise<boolean> {
    const { isAccepted, written, gone } = await this.claims.settle(outcome);
    if (gone) {
      this.forget(gone);
      this.rows.endManual(gone.id, GONE);
    }
    if (!written) return isAccepted;
    const { job, outcome: row } = written;
    this.forget(job);
    this.rows.endManual(job.id, row.result ?? CLOSING);
    if (row.due !== undefined) this.rows.polled.addAt(row.due, [job.target]);
    else if (!row.result) this.poll([job.target]);
    return true;
  }

  /** Whether others may have its rows: this process was stopped, or its thread busy, or the database away, for long. */
  get mayBeLost(): boolean {
    return this.member.mayBeLost;
  }

  /** The claims that were lost. @throws the database's errors */
  async lost(claims: readonly Claim[]): Promise<readonly Claim[]> {
    if (this.mayBeLost) await this.member.beat();
    const stored = new Set(await this.member.table.heldIds());
    return claims.filter((claim) => !this.claims.holds(claim) || !stored.has(Number(claim.id)));
  }

  /** @throws RequestError, DatabaseError */
  runManual(ids: readonly number[]): Promise<ManualResults> {
    return this.rows.runManual(ids);
  }

  async close(): Promise<void> {
    this.rows.close();
    await this.rows.giveBack(this.targets.takeQueued());
    await this.member.leave(await this.rows.hasNone());
  }

  private async claimManual(signal: AbortSignal): Promise<Claim[]> {
    const claims = await Promise.all(this.targets.takeRunnable().map((job) => this.beginManual(job, signal)));
    return claims.flat();
  }

  private async beginManual(job: AcceptedJob, signal: AbortSignal): Promise<Claim[]> {
    try {
      const ask = () => this.member.table.acceptance.row(job.id);
      const row =
        (await this.member.writer.begin(job)) && (await this.member.database.insist(ask, { signal }));
      if (row) return [this.claims.add(job, row)];
      this.rows.endManual(job.id, GONE);
    } catch (error) {
      this.rows.endManual(job.id, messageOf(error));
      await this.rows.giveBack([job]);
    }
    this.forget(job);
    return [];
  }

  private async claimWaiting(slots: FreeSlots, signal: AbortSignal): Promise<Claim[]> {
    const { polled, accepted: held } = this.rows;
    const rooms = polled.take(slots.functions());
    if (rooms.size === 0) return [];
    const now = nowInSeconds();
    try {
      const { table } = this.member;
      const refused = new Set<number>();
      const onRefused = (id: number) => refused.add(id);
      const { log } = this.options;
      const fetched = await beginRows(table, held, rooms, { now, signal, log, onRefused });
      const accepted = fetched.flatMap((some) => some.accepted);
      this.lookFurther(rooms, accepted, { now, refused });
      for (const job of accepted) this.targets.hold(job);
      return fetched.flatMap(({ accepted: jobs, rows }) =>
        jobs.map((job) => this.claims.add(job, rows.get(job.id) ?? {})),
      );
    } catch (error) {
      polled.add([...rooms.keys()]);
      if (signal.aborted) return [];
      throw error;
    }
  }

  /** A target that filled its room may have more rows; the others may have rows that were locked or fall due later. */
  private lookFurther(
    rooms: ReadonlyMap<string, number>,
    accepted: readonly AcceptedJob[],
    poll: Poll,
  ): void {
    const { polled } = this.rows;
    const came = (target: string) => accepted.filter((job) => job.target === target).length;
    polled.add([...rooms].filter(([target, room]) => came(target) >= room).map(([target]) => target));
    // It fails only when the source is closed.
    void polled.watchRest([...rooms.keys()], poll).catch(() => undefined);
  }

  private lose(job: AcceptedJob): void {
    if (this.claims.isSettling(job)) return;
    const claim = this.claims.drop(job);
    this.forget(job);
    this.rows.endManual(job.id, GONE);
    if (claim) this.onLost(claim);
  }

  private forget(job: AcceptedJob): void {
    this.rows.accepted.forget(job);
    this.targets.free(job);
  }
}

interface Beginning {
  /** In seconds since 1970. */
  readonly now: number;
  readonly signal: AbortSignal;
  readonly log: JobdLog;
  /** Called with the id of each row that the table refuses. */
  readonly onRefused: (id: number) => void;
}

/** Accepts and begins up to so many rows of each target: together, or singly where the table refuses one of them. */
function beginRows(
  { acceptance, database }: JobTable,
  held: AcceptedRows,
  rooms: ReadonlyMap<string, number>,
  { now, signal, log, onRefused }: Beginning,
): Promise<readonly FetchedRows[]> {
  const begin = (some: ReadonlyMap<string, number>, only?: number) =>
    held.accept(() => acceptance.begin(some, now, only), signal);
  const due = async () => {
    const found = [...rooms].map(([target, room]) =>
      database.insist(() => acceptance.dueRows([target], room, now), { signal }),
    );
    return (await Promise.all(found)).flat();
  };
  return acceptUnlessRefused(
    {
      together: () => begin(rooms),
      rows: due,
      one: ({ id, target }) => begin(new Map([[target, 1]]), id),
      onRefused: ({ id }) => onRefused(id),
    },
    log,
  );
}

/** Checks that the table has the column for handlers. @throws DatabaseSetupError, after the member has left */
async function checkInput(member: Membership, input: string | undefined): Promise<void> {
  if (input === undefined || (await member.table.hasColumn(input))) return;
  await member.leave(false);
  throw new DatabaseSetupError(
    `The table has no column '${input}', which \`input\` of jobd() names. Add it, or name another.`,
  );
}

/** Wakes a waiting worker. */
class WakeUp {
  private rung = 0;
  private resume: () => void = () => undefined;

  ring(): void {
    this.rung++;
    this.resume();
  }

  /** How many wake-ups there were. Read it before looking for work. */
  get count(): number {
    return this.rung;
  }

  /** Resolves when there were more than `count` wake-ups, or `signal` aborts. */
  async next(count: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted || this.rung !== count) return;
    await new Promise<void>((resolve) => {
      const resume = () => {
        signal.removeEventListener('abort', resume);
        resolve();
      };
      this.resume = resume;
      signal.addEventListener('abort', resume, { once: true });
    });
  }
}
