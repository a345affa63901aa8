import { randomUUID } from 'node:crypto';
import { defined } from '../../job/defined.js';
import { toMilliseconds, type Duration } from '../../job/duration.js';
import type { Health } from '../../job/health.js';
import { checkOptions, optionNames } from '../../job/known-options.js';
import { Launcher } from '../launcher/launcher.js';
import { processWay } from '../launcher/start-process.js';
import { checkDaemonOptions, type CheckedOptions, type DaemonOptions } from './daemon-options.js';
import { RequestError } from '../vocabulary/errors.js';
import type { DaemonOperations, DaemonStatus, JobRun, ManualResults } from '../vocabulary/operations.js';
import { checkIds } from '../vocabulary/row-ids.js';
import { Membership } from '../membership/membership.js';
import { Targets } from '../rows/targets.js';
import { DaemonRows } from './daemon-rows.js';
import { hideFields, showAs } from '../../job/show-as.js';
import { databaseAddress } from '../storage/database-location.js';

const NO_TARGETS =
  'There are no targets: no row is run, and no master knows this daemon. Name them in the section [targets], or add them with add-target.';
const STOP = optionNames<{ timeout?: Duration }>({ timeout: true });

interface Started {
  readonly member: Membership;
  readonly rows: DaemonRows;
}

/**
 * Runs the jobs of a table, for one or more targets. Any number of daemons may share a table; if one dies, the
 * others take over its rows.
 */
export class JobdDaemon implements DaemonOperations {
  static {
    showAs(JobdDaemon, ({ options, served }) => ({
      database: databaseAddress(options.database),
      table: options.table,
      targets: served.names,
    }));
  }

  private readonly options: CheckedOptions;
  private readonly served: Targets;
  private readonly instance = randomUUID();
  private readonly launcher: Launcher;
  private readonly listeners: (() => void)[] = [];
  private readonly runListeners: ((run: JobRun) => void)[] = [];
  private started: Started | undefined;
  private periodic: NodeJS.Timeout | undefined;
  private stopping: Promise<void> | undefined;
  private hurry: (timeout: number) => void = () => undefined;

  /** @throws ConfigurationError, InvalidOptionError */
  constructor(options: DaemonOptions) {
    this.options = checkDaemonOptions(options);
    this.served = new Targets(this.options.targets);
    this.launcher = new Launcher(options, this.instance);
    hideFields(this);
  }

  /** Whether its database answers. */
  health(): Health {
    const { isReachable = false, problem } = this.started?.member.database ?? {};
    return defined({ connected: isReachable, server: databaseAddress(this.options.database), problem });
  }

  /** Takes over from daemons that died on this machine, then polls. @throws DatabaseSetupError */
  async start(): Promise<void> {
    const { pollInterval, log, posixSpawn } = this.options;
    log.info(`processes are started with ${processWay(posixSpawn)}`);
    if (this.served.names.length === 0) log.warn(NO_TARGETS);
    const member = await Membership.open({ ...this.options, instance: this.instance });
    this.started = await this.open(member);
    member.database.whenBack(() => this.poll());
    this.poll();
    if (pollInterval !== undefined) this.periodic = setInterval(() => this.poll(), pollInterval);
  }

  /**
   * Releases rows that have not begun. Running jobs may finish until `timeout`, then they are ended by force. A second
   * call can shorten the timeout.
   *
   * @param options `timeout` is `drainTimeout` by default
   * @throws ConfigurationError, InvalidOptionError
   */
  async stop(options: { timeout?: Duration } = {}): Promise<void> {
    const { timeout = this.options.drainTimeout } = checkOptions('stop', options, STOP);
    const ms = toMilliseconds('timeout', timeout, { least: 0 });
    if (!this.started) return;
    this.stopping ??= this.drain(this.started);
    this.hurry(ms);
    await this.stopping;
  }

  poll(targets?: readonly string[]): void {
    this.started?.rows.poll(this.served.select(targets));
  }

  pause(targets?: readonly string[]): void {
    this.served.setPaused(this.served.select(targets), true);
  }

  continue(targets?: readonly string[]): void {
    const names = this.served.select(targets);
    this.served.setPaused(names, false);
    this.started?.rows.wake();
    this.poll(names);
  }

  status(): DaemonStatus {
    return {
      targets: this.served.status(),
      jobPromisesCount: this.started?.rows.waitingClients ?? 0,
      memoryUsage: process.memoryUsage(),
    };
  }

  targets(): readonly string[] {
    return this.served.names;
  }

  addTarget(target: string, concurrency: number): void {
    this.served.add(target, concurrency);
    this.tellTargetsChanged();
    this.poll([target]);
  }

  removeTarget(target: string): void {
    this.served.remove(target);
    this.tellTargetsChanged();
  }

  setTargetConcurrency(target: string, concurrency: number): void {
    this.served.setConcurrency(target, concurrency);
    this.started?.rows.wake();
  }

  async runManual(ids: readonly number[]): Promise<ManualResults> {
    checkIds(ids);
    if (!this.started) throw new RequestError('the daemon is not started');
    return this.started.rows.runManual(ids);
  }

  sendSignal(jobs: ReadonlyMap<number, string | number>): Map<number, boolean> {
    const { started } = this;
    return new Map([...jobs].map(([id, signal]) => [id, started?.rows.signal(id, signal) ?? false]));
  }

  onTargetsChanged(listener: () => void): void {
    this.listeners.push(listener);
  }

  /** Calls `listener` whenever a job's run has ended and its end is written. */
  onRun(listener: (run: JobRun) => void): void {
    this.runListeners.push(listener);
  }

  private tellTargetsChanged(): void {
    for (const listener of this.listeners) listener();
  }

  private async open(member: Membership): Promise<Started> {
    const { table, writer } = member;
    const onRun = (run: JobRun) => this.runListeners.forEach((listener) => listener(run));
    const options = { ...this.options, onRun };
    const rows = new DaemonRows(table, this.served, { writer, launcher: this.launcher }, options);
    await member.enter({
      onReleased: () => this.poll(),
      onBeat: () => rows.reconcile(),
      onReborn: (instance) => {
        this.launcher.mark(instance);
        rows.loseAll();
      },
    });
    return { member, rows };
  }

  private async drain({ member, rows }: Started): Promise<void> {
    clearInterval(this.periodic);
    await member.leave(await rows.drain(this.hurried()));
  }

  /** Resolves at the earliest of the times given to `hurry`. */
  private hurried(): Promise<void> {
    return new Promise((resolve) => {
      this.hurry = (timeout) => {
        if (timeout === 0) resolve();
        else setTimeout(resolve, timeout).unref();
      };
    });
  }
}
