import { messageOf } from '../../job/errors.js';
import { killOrphans } from '../launcher/orphans.js';
import { isGone, isLocal } from '../launcher/process-identity.js';
import type { JobdLog } from '../log.js';
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
  /** Rows were given back: somebody should fetch them. */
  readonly onReleased: () => void;
  /** After each beat that the database took. */
  readonly onBeat: () => Promise<void>;
}

const BEATS_A_LEASE = 4;

/**
 * Tells others that this daemon lives, and takes over from those that don't. Another's beat is judged by
 * whether it changes while we look, so that clocks need not agree; and only as long as we look without a
 * gap, since in an outage nobody can beat.
 */
export class Presence {
  private readonly seen = new Map<string, { beat: number; since: number }>();
  private timer: NodeJS.Timeout | undefined;
  private lastLook = -Infinity;
  private isStopped = false;

  constructor(
    private readonly database: Database,
    private readonly registry: DaemonRegistry,
    private readonly options: PresenceOptions,
  ) {}

  /** Enters this daemon and takes over from those that died on this machine. @throws the database's errors */
  async start(): Promise<void> {
    await this.insist(() => this.registry.beat());
    await this.insist(() => this.look());
    this.goOn();
  }

  stop(): void {
    this.isStopped = true;
    clearTimeout(this.timer);
  }

  private get interval(): number {
    return this.options.lease / BEATS_A_LEASE;
  }

  private goOn(): void {
    if (!this.isStopped) this.timer = setTimeout(() => void this.round(), this.interval);
  }

  private async round(): Promise<void> {
    try {
      await this.insist(() => this.registry.beat());
      await this.insist(() => this.look());
      if (!this.isStopped) await this.options.onBeat();
    } catch (error) {
      this.seen.clear();
      this.options.log.debug(`No sign of life could be given: ${messageOf(error)}`);
    }
    this.goOn();
  }

  /** Others in the way are no outage; an outage is left to the next round. */
  private insist(question: () => Promise<void>): Promise<void> {
    const signal = AbortSignal.timeout(this.options.lease);
    return this.database.insist(question, { signal, isFinal: (error) => !isContention(error) });
  }

  private async look(): Promise<void> {
    const others = await this.registry.others();
    const now = performance.now();
    if (now - this.lastLook > 2 * this.interval) this.seen.clear();
    this.lastLook = now;
    for (const other of others) {
      const gone = isGone(other);
      // What a dead daemon left running must not run beside its successor.
      if (gone) killOrphans(other.instance);
      if (gone || this.isSilent(other, now)) await this.takeOver(other);
    }
    const present = new Set(others.map(({ instance }) => instance));
    for (const instance of this.seen.keys()) if (!present.has(instance)) this.seen.delete(instance);
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
    // A daemon of this machine that is only held up has children too.
    if (isLocal(dead)) killOrphans(dead.instance);
    this.options.log.warn(
      `The daemon '${dead.name}' is dead: ${released} of its rows wait again, ${failed} failed.`,
    );
    if (released > 0) this.options.onReleased();
  }
}
