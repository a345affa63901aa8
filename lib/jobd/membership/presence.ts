import { messageOf } from '../../job/errors.js';
import { killOrphans } from '../launcher/orphans.js';
import { isGone, isLocal } from '../launcher/process-identity.js';
import type { JobdLog } from '../vocabulary/log.js';
import type { DaemonRegistry, OrphanPolicy } from '../storage/daemon-registry.js';
import type { Database } from '../storage/database.js';
import { isContention } from '../storage/errors.js';
import type { DaemonsTable } from '../storage/schema.js';
import { nowInSeconds } from '../storage/row-writer.js';

export interface PresenceOptions {
  /** Milliseconds. */
  readonly lease: number;
  readonly orphans: OrphanPolicy;
  readonly log: JobdLog;
  /** Called when another member has left or died, for its rows, also those it was to begin later. */
  readonly onReleased: () => void;
  /** Called after each heartbeat that was written. */
  readonly onBeat: () => Promise<void>;
}

const BEATS_A_LEASE = 4;

/**
 * Writes this daemon's heartbeat, and takes over from daemons whose heartbeat has stopped. It only counts whether a
 * heartbeat changes while this daemon reads it, so clocks need not agree; and only while it reads without a gap, since
 * no daemon can write heartbeats during an outage.
 */
export class Presence {
  private readonly seen = new Map<string, { beat: number; since: number }>();
  private known = new Set<string>();
  private timers: NodeJS.Timeout[] = [];
  private lastLook = -Infinity;
  private lastBeat = -Infinity;
  /** When the last beat that was written began. */
  private beganAt = -Infinity;
  private beating: Promise<void> = Promise.resolve();
  private readonly stopping = new AbortController();

  constructor(
    private readonly database: Database,
    private readonly registry: DaemonRegistry,
    private readonly options: PresenceOptions,
  ) {}

  /** Enters this daemon and takes over from those that died on this machine. @throws the database's errors */
  async start(): Promise<void> {
    await this.beat();
    await this.insist(() => this.look());
    const { orphans } = this.options;
    await this.insist(() => this.registry.takeUnentered(orphans, nowInSeconds()));
    // Separate timers: heartbeats continue while a check waits.
    this.again(() => (this.beating = this.beat()));
    this.again(() => this.round());
  }

  /** Resolves after the last beat. */
  async stop(): Promise<void> {
    this.stopping.abort();
    for (const timer of this.timers) clearTimeout(timer);
    await this.beating.catch(() => undefined);
  }

  private get interval(): number {
    return this.options.lease / BEATS_A_LEASE;
  }

  private again(action: () => Promise<void>): void {
    const index = this.timers.length;
    const next = () => {
      if (!this.stopping.signal.aborted) this.timers[index] = setTimeout(() => void run(), this.interval);
    };
    const run = () =>
      action()
        .catch((error: unknown) =>
          this.options.log.debug(`No sign of life could be given: ${messageOf(error)}`),
        )
        .finally(next);
    next();
  }

  /** Whether others may have taken this one for dead, as it could not beat for so long. */
  get mayBeLost(): boolean {
    return performance.now() - this.beganAt > this.options.lease / 2;
  }

  /** Writes a heartbeat. If others have taken over, this member goes on as another one. @throws the database's errors */
  async beat(): Promise<void> {
    let began = 0;
    await this.insist(() => {
      began = performance.now();
      return this.registry.beat();
    });
    this.beganAt = began;
    this.lastBeat = performance.now();
  }

  private async round(): Promise<void> {
    try {
      if (await this.registry.settleFormer(this.options.orphans, nowInSeconds())) this.options.onReleased();
      await this.insist(() => this.look());
      if (!this.stopping.signal.aborted) await this.options.onBeat();
    } catch (error) {
      this.seen.clear();
      throw error;
    }
  }

  /** Retries on contention only; after an outage the next round tries again. */
  private insist<T>(question: () => Promise<T>): Promise<T> {
    const signal = AbortSignal.any([AbortSignal.timeout(this.options.lease), this.stopping.signal]);
    return this.database.insist(question, { signal, isFinal: (error) => !isContention(error) });
  }

  private async look(): Promise<void> {
    const others = await this.registry.others();
    const now = performance.now();
    // A daemon that can't write its own heartbeat can't judge others.
    if (now - Math.min(this.lastLook, this.lastBeat) > 2 * this.interval) this.seen.clear();
    this.lastLook = now;
    for (const other of others) {
      const gone = isGone(other);
      // Processes of a dead daemon must not run beside those of its successor.
      if (gone) killOrphans(other.instance);
      if (gone || this.isSilent(other, now)) await this.takeOver(other);
    }
    const present = new Set(others.map(({ instance }) => instance));
    for (const instance of this.seen.keys()) if (!present.has(instance)) this.seen.delete(instance);
    this.missed(present);
  }

  /** A daemon that left may have had rows that others have not read: released, or scheduled. */
  private missed(present: Set<string>): void {
    const hasLeft = [...this.known].some((instance) => !present.has(instance));
    this.known = present;
    if (hasLeft) this.options.onReleased();
  }

  private isSilent({ instance, beat }: DaemonsTable, now: number): boolean {
    const seen = this.seen.get(instance);
    if (seen?.beat !== beat) this.seen.set(instance, { beat, since: now });
    return seen?.beat === beat && now - seen.since >= this.options.lease;
  }

  private async takeOver(dead: DaemonsTable): Promise<void> {
    const taken = await this.registry.takeOver(dead, this.options.orphans, nowInSeconds());
    if (!taken) return;
    const { released, failed } = taken;
    // A stalled daemon of this machine still has child processes.
    if (isLocal(dead)) killOrphans(dead.instance);
    this.options.log.warn(
      `The daemon '${dead.name}' is dead: ${released} of its rows wait again, ${failed} failed.`,
    );
    this.known.delete(dead.instance);
    this.options.onReleased();
  }
}
