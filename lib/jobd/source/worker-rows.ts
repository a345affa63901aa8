import { messageOf } from '../../job/errors.js';
import type { Claim, FreeSlots, Outcome } from '../../job/job-source.js';
import { Custody } from '../rows/accepted-rows.js';
import { RequestError } from '../vocabulary/errors.js';
import { acceptManual } from '../rows/manual-acceptance.js';
import { ManualRuns } from '../rows/manual-runs.js';
import { Membership, type MemberOptions } from '../membership/membership.js';
import type { ManualResults } from '../vocabulary/operations.js';
import { Targets } from '../rows/targets.js';
import type { ManualRules } from '../storage/acceptance.js';
import type { AcceptedJob } from '../storage/accepted-job.js';
import { nowInSeconds } from '../storage/row-writer.js';
import { beginRows } from './begin-rows.js';
import { checkInput } from './row-input-column.js';
import { ClaimedRows } from './claimed-rows.js';
import { PolledTargets } from '../rows/polled-targets.js';

export interface SourceWorkOptions extends MemberOptions {
  readonly input?: string;
  /** Milliseconds. */
  readonly manualPatience: number;
}

/** A manual row waits until its handler asks for it. */
const NONE_AT_ONCE: Omit<ManualRules, 'serves'> = {
  begins: () => false,
  beginsIn: () => [],
  giveUp: () => undefined,
};
const CLOSING = 'the app is shutting down';
const TAKEN_OVER = 'another daemon has taken this job over';
const LAST_WRITES_MS = 2000;

/** Rows on their way through an app: claimed in the state `running`, settled, or given back. */
export class SourceWork {
  readonly targets = new Targets(new Map());
  private readonly manual = new ManualRuns();
  private readonly polled: PolledTargets;
  private readonly closing = new AbortController();
  private readonly custody: Custody;
  private readonly rows: ClaimedRows;
  /** How often there was something new to look for. */
  private alarmed = 0;
  private onAlarm: () => void = () => undefined;

  private constructor(
    private readonly member: Membership,
    private readonly options: SourceWorkOptions,
    private readonly onLost: (claim: Claim) => void,
  ) {
    this.custody = new Custody(member.table, options.log, (job) => this.lose(job));
    this.polled = new PolledTargets(member.table, this.targets, this.closing.signal, () => this.wake());
    this.rows = new ClaimedRows(member.table, member.writer, options.input);
  }

  /** @throws DatabaseSetupError */
  static async open(options: SourceWorkOptions, onLost: (claim: Claim) => void): Promise<SourceWork> {
    const member = await Membership.open(options);
    await checkInput(member, options.input);
    const work = new SourceWork(member, options, onLost);
    await member.enter({
      onReleased: () => work.poll(),
      onBeat: async () => {
        if (await work.custody.reconcile()) work.poll();
      },
      onReborn: () => work.custody.loseAll(),
    });
    member.database.whenBack(() => work.poll());
    return work;
  }

  get isConnected(): boolean {
    return this.member.database.isReachable;
  }

  get waitingClients(): number {
    return this.manual.size;
  }

  /** True where there are new ones among them. */
  serve(targets: readonly string[]): boolean {
    const added = targets.filter((target) => !this.targets.has(target));
    for (const target of added) this.targets.add(target, 1);
    this.poll(added);
    return added.length > 0;
  }

  poll(targets: readonly string[] = this.targets.names): void {
    this.polled.add(targets);
    this.wake();
  }

  holds(claim: Claim): boolean {
    return this.rows.holds(claim);
  }

  /** Never rejects: an outage is waited for. */
  async claim(slots: FreeSlots, signal: AbortSignal): Promise<readonly Claim[]> {
    const ending = AbortSignal.any([signal, this.closing.signal]);
    const ignoreSlots = slots.onFree(() => this.wake());
    try {
      while (!ending.aborted) {
        const { alarmed } = this;
        // What a target may take is what runs and what its handler has room for.
        for (const target of this.targets.names) this.targets.setRoom(target, slots.of(target));
        const claims = [...(await this.claimManual(ending)), ...(await this.claimWaiting(slots, ending))];
        if (claims.length > 0) return claims;
        // What came up while the database was asked is looked for at once.
        if (this.alarmed === alarmed) await this.nextWake(ending);
      }
      return [];
    } finally {
      ignoreSlots();
    }
  }

  /** Whether the outcome was accepted. */
  async settle(outcome: Outcome): Promise<boolean> {
    const { isAccepted, written } = await this.rows.settle(outcome);
    if (!written) return isAccepted;
    const { job, outcome: row } = written;
    this.forget(job);
    this.manual.end(job.id, row.result ?? CLOSING);
    if (row.due !== undefined) this.polled.addAt(row.due, [job.target]);
    else if (!row.result) this.poll([job.target]);
    return true;
  }

  /** Those that are another's by now. @throws the database's errors */
  async lost(claims: readonly Claim[]): Promise<readonly Claim[]> {
    const stored = new Set(await this.member.table.heldIds());
    return claims.filter((claim) => !this.rows.holds(claim) || !stored.has(Number(claim.id)));
  }

  /** @throws RequestError, DatabaseError */
  async runManual(ids: readonly number[]): Promise<ManualResults> {
    if (this.closing.signal.aborted) throw new RequestError(CLOSING);
    const ends = this.manual.wait([...new Set(ids)]);
    try {
      await this.acceptManual([...ends.keys()]);
    } catch (error) {
      for (const id of ends.keys()) this.manual.end(id, messageOf(error));
      throw error;
    }
    return this.manual.results(ends);
  }

  async close(): Promise<void> {
    this.closing.abort();
    const queued = this.targets.takeQueued();
    for (const { id } of queued) this.manual.end(id, CLOSING);
    await this.giveBack(queued);
    await this.custody.idle();
    await this.member.leave(this.custody.size === 0);
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
      if (row) return [this.rows.add(job, row)];
      this.manual.end(job.id, TAKEN_OVER);
    } catch (error) {
      this.manual.end(job.id, messageOf(error));
      await this.giveBack([job]);
    }
    this.forget(job);
    return [];
  }

  private async claimWaiting(slots: FreeSlots, signal: AbortSignal): Promise<Claim[]> {
    const ready = this.polled.take(slots);
    if (ready.size === 0) return [];
    const now = nowInSeconds();
    try {
      const { table } = this.member;
      const fetched = await beginRows(table, this.custody, ready, { now, signal, log: this.options.log });
      const accepted = fetched.flatMap((some) => some.accepted);
      this.polled.lookFurther(ready, accepted, now);
      for (const job of accepted) this.targets.hold(job);
      return fetched.flatMap(({ accepted: jobs, rows }) =>
        jobs.map((job) => this.rows.add(job, rows.get(job.id) ?? {})),
      );
    } catch (error) {
      this.polled.add([...ready.keys()]);
      if (signal.aborted) return [];
      throw error;
    }
  }

  private async acceptManual(ids: readonly number[]): Promise<void> {
    const { table } = this.member;
    const { accepted, refused } = await acceptManual(table, this.custody, ids, {
      rules: { ...NONE_AT_ONCE, serves: (target) => this.targets.has(target) },
      patience: this.options.manualPatience,
      onUnwanted: (jobs) => void jobs.then((unwanted) => this.giveBack(unwanted)),
    });
    const found = new Set(accepted.map(({ id }) => id));
    for (const id of ids) if (!found.has(id)) this.manual.end(id, refused.get(id) ?? `job ${id} not found`);
    for (const job of accepted) this.targets.enqueue(job);
    this.wake();
  }

  private async giveBack(jobs: readonly AcceptedJob[]): Promise<void> {
    try {
      await this.custody.release(jobs, AbortSignal.timeout(LAST_WRITES_MS));
    } catch (error) {
      this.options.log.error(`${jobs.length} rows could not be given back: ${messageOf(error)}`);
      // As strays they go back with one of the next beats.
      if (!this.closing.signal.aborted) for (const job of jobs) this.custody.forget(job);
    }
  }

  private lose(job: AcceptedJob): void {
    if (this.rows.isSettling(job)) return;
    const claim = this.rows.drop(job);
    this.forget(job);
    this.manual.end(job.id, TAKEN_OVER);
    if (claim) this.onLost(claim);
  }

  private forget(job: AcceptedJob): void {
    this.custody.forget(job);
    this.targets.free(job);
  }

  private wake(): void {
    this.alarmed++;
    this.onAlarm();
  }

  private async nextWake(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    await new Promise<void>((resolve) => {
      const wake = () => {
        signal.removeEventListener('abort', wake);
        resolve();
      };
      this.onAlarm = wake;
      signal.addEventListener('abort', wake, { once: true });
    });
  }
}
