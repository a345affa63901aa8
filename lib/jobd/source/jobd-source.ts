import { randomUUID } from 'node:crypto';
import { defined } from '../../job/defined.js';
import { ConfigurationError } from '../../job/errors.js';
import { ConnectionError } from '../../job/server-errors.js';
import type { Health } from '../../job/health.js';
import type { QueueOverview } from '../../job/job-views.js';
import type { SourceTables } from '../../job/source-tables.js';
import type {
  Claim,
  FreeSlots,
  JobSource,
  SourceMonitor,
  OnRevoked,
  Outcome,
  SourceLeases,
} from '../../job/job-source.js';
import { ALL_CAPABILITIES } from '../../job/source-capabilities.js';
import { MasterLink } from '../worker/master-link.js';
import { unlessDraining } from '../worker/unless-draining.js';
import { workerRequests } from '../worker/worker-requests.js';
import { linkOptions } from '../worker/jobd-worker.js';
import { WorkerRows } from './worker-rows.js';
import { SourceOperations } from './source-operations.js';
import { checkSourceOptions, type CheckedSourceOptions, type JobdSourceOptions } from './source-options.js';
import { localPolls, tableKey } from './local-polls.js';
import { hideFields, showAs } from '../../job/show-as.js';
import { tablesOf } from './tables.js';
import type { Database } from '../storage/database.js';
import { databaseAddress } from '../storage/database-location.js';
import { tableNames } from '../storage/schema.js';
import { readOverview } from '../storage/target-overview.js';

/** Rows of a table of jobs, run by handlers instead of processes. Daemons may share the table. */
export class JobdSource implements JobSource, SourceMonitor {
  static {
    showAs(JobdSource, ({ address, options }) => ({
      database: address,
      table: options.table,
      targets: options.targets,
    }));
  }

  readonly monitor = this;
  readonly capabilities = {
    ...ALL_CAPABILITIES,
    count: false,
    priorities: false,
    progress: false,
    leases: false,
    options: false,
    snooze: false,
    steps: false,
    limits: false,
  };
  readonly system = 'jobd';
  readonly client = 'JobdClient (nestjs-gearmonkey/jobd)';
  readonly tables: SourceTables;
  readonly leases: SourceLeases = { mayBeLost: () => this.rows?.mayBeLost ?? false };
  private readonly options: CheckedSourceOptions;
  private readonly key: string;
  private readonly instance = randomUUID();
  private rows: WorkerRows | undefined;
  private opening: Promise<WorkerRows> | undefined;
  private link: MasterLink | undefined;
  private periodic: NodeJS.Timeout | undefined;
  private isResting = false;
  private lastReplyAt?: Date;
  private onRevoked: OnRevoked = () => undefined;
  private readonly onLocalPoll = (targets?: readonly string[]) => this.poll(targets);

  /** @throws InvalidOptionError */
  constructor(options: JobdSourceOptions) {
    this.options = checkSourceOptions(options);
    this.key = tableKey(this.options.database, this.options.table);
    this.tables = tablesOf(
      () => this.database(),
      tableNames(this.options.table),
      (targets) => {
        localPolls.emit(this.key, targets);
      },
    );
    hideFields(this);
  }

  get address(): string {
    return databaseAddress(this.options.database);
  }

  /** @throws ConfigurationError for a function that isn't among the targets, DatabaseSetupError */
  async open(functions: readonly string[], onRevoked: OnRevoked = this.onRevoked): Promise<void> {
    this.onRevoked = onRevoked;
    this.isResting = false;
    for (const fn of functions) this.checkTarget(fn);
    this.opening = this.opening?.catch(() => this.start()) ?? this.start();
    const rows = await this.opening;
    if (rows.serve(functions)) this.link?.update();
  }

  async claim(slots: FreeSlots, signal: AbortSignal): Promise<readonly Claim[]> {
    const claims = (await this.rows?.claim(slots, signal)) ?? [];
    this.lastReplyAt = new Date();
    return claims;
  }

  /** This source renews its leases itself; this checks which claims were lost. */
  async renew(claims: readonly Claim[]): Promise<readonly Claim[]> {
    return this.rows ? this.rows.lost(claims) : claims;
  }

  /** The table has no column for progress: nothing is recorded. */
  async progress(claim: Claim): Promise<boolean> {
    return this.rows?.holds(claim) ?? false;
  }

  async settle(outcomes: readonly Outcome[]): Promise<readonly Claim[]> {
    const { rows } = this;
    if (!rows) return outcomes.map(({ claim }) => claim);
    const accepted = await Promise.all(outcomes.map((outcome) => rows.settle(outcome)));
    return outcomes.filter((_, index) => !accepted[index]).map(({ claim }) => claim);
  }

  health(): Health {
    const { lastReplyAt, rows, address } = this;
    const { isReachable = this.isUnused, problem } = rows?.database ?? {};
    return defined({ connected: isReachable, server: address, lastReplyAt, problem });
  }

  async overview(): Promise<QueueOverview[]> {
    return this.rows ? readOverview(this.rows.database, tableNames(this.options.table)) : [];
  }

  async reach(timeout: number): Promise<void> {
    if (this.isUnused) return;
    await this.database().reach(timeout);
  }

  private database(): Database {
    if (!this.rows) throw new ConnectionError('The database was not asked', 'no worker is open');
    return this.rows.database;
  }

  /** An app without workers never opens it, which is no problem. */
  private get isUnused(): boolean {
    return this.opening === undefined && !this.isResting;
  }

  /** Fetches waiting rows of these targets, or of all. */
  poll(targets?: readonly string[]): void {
    this.rows?.poll(targets);
  }

  takeNoMore(): void {
    this.isResting = true;
  }

  async close(): Promise<void> {
    this.isResting = true;
    // A connection that is still being opened is closed too.
    await this.opening?.catch(() => undefined);
    clearInterval(this.periodic);
    localPolls.off(this.key, this.onLocalPoll);
    const [rows, link] = [this.rows, this.link];
    this.rows = this.link = this.opening = undefined;
    await link?.stop();
    await rows?.close();
  }

  private async start(): Promise<WorkerRows> {
    const { options, instance } = this;
    const rows = await WorkerRows.open({ ...options, instance }, (claim) => this.onRevoked(claim, 'lost'));
    this.rows = rows;
    localPolls.on(this.key, this.onLocalPoll);
    if (options.pollInterval !== undefined)
      this.periodic = setInterval(() => this.poll(), options.pollInterval);
    this.startLink(rows);
    return rows;
  }

  private startLink(rows: WorkerRows): void {
    const { master, name, log } = this.options;
    if (!master) return;
    const operations = new SourceOperations(rows);
    const handlers = unlessDraining(workerRequests(operations), () => this.isResting);
    this.link = new MasterLink(linkOptions(operations, { master, name, log, handlers }));
    this.link.start();
  }

  private checkTarget(fn: string): void {
    const { targets } = this.options;
    if (targets.includes(fn)) return;
    throw new ConfigurationError(
      `There is a handler for "${fn}", which is not among the targets of jobd(): ${targets.join(', ')}. Add it there, or give the handler another instance.`,
    );
  }
}
