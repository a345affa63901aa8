import { toCause } from '../../job/cause.js';
import { messageOf } from '../../job/errors.js';
import { ownIdentity } from '../launcher/process-identity.js';
import type { JobdLog } from '../vocabulary/log.js';
import { DaemonRegistry, type OrphanPolicy } from '../storage/daemon-registry.js';
import { toLocation, type DatabaseLocation } from '../storage/database-location.js';
import { Database } from '../storage/database.js';
import { DatabaseSetupError, isContention } from '../storage/errors.js';
import { JobTable } from '../storage/job-table.js';
import { nowInSeconds, RowWriter } from '../storage/row-writer.js';
import { tableNames } from '../storage/schema.js';
import { Presence, type PresenceOptions } from './presence.js';

export interface MemberOptions {
  readonly database: string | DatabaseLocation;
  readonly table: string;
  /** This member's name, for others. */
  readonly name: string;
  /** New at each start. */
  readonly instance: string;
  /** Milliseconds. */
  readonly lease: number;
  readonly orphans: OrphanPolicy;
  readonly log: JobdLog;
}

/** Callbacks of a member. */
export interface MemberListeners extends Pick<PresenceOptions, 'onReleased' | 'onBeat'> {
  /** Another member took over its rows, for example after a long pause. It continues as `instance`, without rows. */
  readonly onReborn: (instance: string) => void;
}

/** A beat that is not answered within this part of a lease is tried on another connection. */
const ANSWERS_A_LEASE = 2;
const MIN_ANSWER_MS = 3000;

/** Membership in the group that shares a table: it beats, and gives access to the table's rows. */
export class Membership {
  readonly table: JobTable;
  readonly writer: RowWriter;
  private readonly writing = new AbortController();
  private presence: Presence | undefined;

  private constructor(
    table: JobTable,
    private readonly registry: DaemonRegistry,
    private readonly opened: readonly Database[],
    private readonly options: MemberOptions,
  ) {
    this.table = table;
    this.writer = new RowWriter(table, options.log, this.writing.signal);
  }

  /** @throws DatabaseSetupError */
  static async open(options: MemberOptions): Promise<Membership> {
    const { database: location, log, instance, name } = options;
    const names = tableNames(options.table);
    const place = toLocation(location);
    const database = await Database.open(place, log);
    const opened = [database];
    try {
      // This connection never waits for locks. A file has only one connection, on which nothing waits.
      const beats = {
        connections: 1,
        answerTimeout: Math.max(MIN_ANSWER_MS, options.lease / ANSWERS_A_LEASE),
      };
      const beating = place.dialect === 'sqlite' ? database : await Database.open(place, log, beats);
      if (beating !== database) opened.push(beating);
      const identity = { instance, name, ...ownIdentity() };
      const registry = new DaemonRegistry(database, names, identity, beating);
      const table = await JobTable.open(database, names, registry);
      if (await database.insist(() => table.hasUnsafeIds(), { isFinal: (error) => !isContention(error) }))
        log.error(`There are rows with ids above ${Number.MAX_SAFE_INTEGER}: they are not run.`);
      return new Membership(table, registry, opened, options);
    } catch (error) {
      await Promise.all(opened.map((one) => one.close()));
      throw error;
    }
  }

  get database(): Database {
    return this.table.database;
  }

  /** Takes over from members that died on this machine, and enters itself. @throws DatabaseSetupError */
  async enter(listeners: MemberListeners): Promise<void> {
    this.registry.whenReborn(() => {
      this.options.log.warn(
        'Others took this one for dead while it could not say otherwise; what it held is theirs.',
      );
      listeners.onReborn(this.registry.instance);
      listeners.onReleased();
    });
    this.presence = new Presence(this.database, this.registry, {
      ...this.options,
      onReleased: listeners.onReleased,
      onBeat: async () => {
        await this.table.sweep();
        await listeners.onBeat();
      },
    });
    try {
      await this.presence.start();
    } catch (error) {
      await this.leave(false);
      const what = `'${this.options.name}' could not be entered in the database`;
      throw new DatabaseSetupError(`${what}: ${messageOf(error)}`, { cause: toCause(error) });
    }
  }

  /** Whether others may have taken over its rows. */
  get mayBeLost(): boolean {
    return this.presence?.mayBeLost ?? false;
  }

  /** Finds out whether they have, and keeps its rows if not. @throws the database's errors */
  async beat(): Promise<void> {
    await this.presence?.beat();
  }

  /** @param isAllWritten if not, the entry stays, so that others take over what couldn't be written */
  async leave(isAllWritten: boolean): Promise<void> {
    const silent = this.presence?.stop();
    this.writing.abort();
    if (isAllWritten) await silent?.then(() => this.sayGoodbye()).catch(() => undefined);
    await Promise.all(this.opened.map((database) => database.close()));
  }

  private async sayGoodbye(): Promise<void> {
    await this.registry.settleFormer(this.options.orphans, nowInSeconds());
    await this.registry.leave();
  }
}
