import { defer, filter, from, mergeMap, repeat, retry, takeWhile, timer, type Observable } from 'rxjs';
import { toMilliseconds, type Duration } from '../../job/duration.js';
import { InvalidOptionError } from '../../job/errors.js';
import type { QueueOverview } from '../../job/job-views.js';
import { instrumentation, tracedEnqueue } from '../../job/instrumentation.js';
import { checkOptions, optionNames } from '../../job/known-options.js';
import type { Health } from '../../job/health.js';
import type { ManualResults } from '../vocabulary/operations.js';
import { checkIds } from '../vocabulary/row-ids.js';
import type { TableRow } from '../source/row-input.js';
import type { JobsTable } from '../storage/schema.js';
import { localPolls } from '../source/local-polls.js';
import { DatabaseSetupError } from '../storage/errors.js';
import type { ClientTable } from './client-table.js';
import type { RequestRoute } from './request-routes.js';
import { hideFields, showAs } from '../../job/show-as.js';

/** A row with the columns that every table of jobs has, and all further ones. Times are seconds, as in the table. */
export type JobRow = JobsTable & TableRow;

/** The columns of a new row, also your own ones: text, numbers, booleans, a Buffer or null. Times are seconds, as in the table. */
export type NewRow = Readonly<
  Partial<Omit<JobsTable, 'id' | 'target' | 'status'>> & { status?: 'waiting' | 'manual' }
> &
  TableRow;

const DEFAULT_INTERVAL = '500ms';
const ROWS = optionNames<{ interval?: Duration }>({ interval: true });
const MIN_INTERVAL_MS = 50;
const AFTER_FAILURE_MS = 1000;

/** Adds rows to a table of jobs, runs and observes them. */
export class JobdClient {
  static {
    showAs(JobdClient, ({ table }) => ({ table: table.address }));
  }

  /** @internal */
  constructor(
    private readonly table: ClientTable,
    private readonly route: RequestRoute,
    private readonly key: string,
  ) {
    hideFields(this);
  }

  /**
   * Sends the database a request, and connects first if needed: for readiness probes. Rejects only for a wrong `timeout`.
   *
   * @param timeout @default '1s'
   * @throws InvalidOptionError
   */
  ping(timeout: Duration = '1s'): Promise<Health> {
    return this.table.ping(timeout);
  }

  /**
   * Adds a row, with the status `waiting` unless `columns` has `manual`. It is not run before a poke or poll. While other
   * clients hold locks that are in the way, it is tried again for up to 5 s.
   *
   * @returns its id
   * @throws DatabaseError if it was not written, or if that is unknown; InvalidOptionError
   */
  add(target: string, columns: NewRow = {}): Promise<number> {
    const write = () => this.table.add(target, columns);
    if (!instrumentation.enqueue.hasSubscribers) return write();
    const event = { system: 'jobd', server: this.table.address, fn: target, count: 1 };
    return tracedEnqueue(event, write, (id) => [String(id)]);
  }

  /**
   * Makes handlers and daemons of this process that share the table fetch waiting rows of the targets, and workers that
   * the module's server or master pokes.
   *
   * @throws RequestError, PeerLostError
   */
  async poke(...targets: readonly string[]): Promise<void> {
    if (targets.length === 0) throw new InvalidOptionError('targets', targets, "one target's name or more");
    localPolls.emit(this.key, targets);
    await this.route.poke(targets);
  }

  /**
   * Runs `manual` rows and waits until all of them have ended.
   *
   * @returns the results of jobs that ran, also failed ones, and why others did not
   * @throws RequestError, PeerLostError, DatabaseError if the request as a whole could not be served; InvalidOptionError
   */
  async runManual(...ids: readonly number[]): Promise<ManualResults> {
    const rows = await this.table.read(ids);
    const targets = new Map(rows.map(({ id, target }) => [Number(id), String(target)]));
    const found = [...new Set(ids)].filter((id) => targets.has(id));
    const missing = [...new Set(ids)].filter((id) => !targets.has(id));
    const none = { jobs: new Map(), errors: new Map() };
    const results =
      found.length > 0
        ? await this.route.runManual(found.map((id) => ({ id, target: targets.get(id) ?? '' })))
        : none;
    for (const id of missing) results.errors.set(id, `job ${id} not found`);
    return results;
  }

  /**
   * The targets of rows that have not ended, in the form of all systems: `waiting` counts also those that are scheduled, and
   * `scheduled` the manual ones.
   *
   * @throws the database's errors
   */
  overview(): Promise<QueueOverview[]> {
    return this.table.overview();
  }

  /** Reads a row. Undefined if there is none of that id. @throws the database's errors, InvalidOptionError */
  async row(id: number): Promise<JobRow | undefined> {
    const [row] = await this.table.read([id]);
    return row as JobRow | undefined;
  }

  /**
   * Emits each row now and after each change. Completes when all of them are done, ignored or deleted. Reads the table
   * every `interval` (50 ms at least) while subscribed, also through outages.
   *
   * @throws ConfigurationError, InvalidOptionError
   */
  rows(ids: readonly number[], options: { readonly interval?: Duration } = {}): Observable<JobRow> {
    checkIds(ids);
    const { interval = DEFAULT_INTERVAL } = checkOptions('rows', options, ROWS);
    const delay = toMilliseconds('interval', interval, { least: MIN_INTERVAL_MS });
    return defer(() => {
      const seen = new Map<number, string>();
      return defer(() => from(this.table.read(ids) as Promise<JobRow[]>)).pipe(
        retry({
          delay: (error) => (error instanceof DatabaseSetupError ? fail(error) : timer(AFTER_FAILURE_MS)),
        }),
        repeat({ delay }),
        takeWhile((rows) => !rows.every(isFinal), true),
        mergeMap((rows) => rows),
        filter((row) => hasChanged(seen, row)),
      );
    });
  }
}

function fail(error: Error): never {
  throw error;
}

function isFinal({ status }: JobRow): boolean {
  return status === 'done' || status === 'ignored';
}

function hasChanged(seen: Map<number, string>, row: JobRow): boolean {
  const text = JSON.stringify(row);
  if (seen.get(row.id) === text) return false;
  seen.set(row.id, text);
  return true;
}
