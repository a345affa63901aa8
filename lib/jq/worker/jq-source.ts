import { setMaxListeners } from 'node:events';
import { hostname } from 'node:os';
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
import { realNow } from '../../job/real-time.js';
import { nestLog } from '../../nest/nest-log.js';
import { MasterHttp } from '../http/master-http.js';
import { tablesOf } from '../http/master-acts.js';
import { readOverview } from '../http/name-overview.js';
import { messagePack } from '../message-pack/codec.js';
import type { WorkerJob } from '../wire/worker-job.js';
import { Inbox } from './inbox.js';
import { PushServer } from './push-server.js';
import type { Origin, PushStatus } from './pushes.js';
import { Registrations } from './registrations.js';
import { Reports } from './reports.js';
import { StallWatch } from './stall-watch.js';
import { sourceSettings, type JqSourceOptions, type SourceSettings } from './source-options.js';
import { hideFields, showAs } from '../../job/show-as.js';

/**
 * Runs the jobs of a JQ master: `GearMonkeyModule.forRoot({ source: jq({ master, listen }) })`. The master pushes
 * them to where it listens; without `listen` they are pulled. JQ has no progress: it is not recorded.
 *
 * @throws InvalidOptionError, ConfigurationError
 */
export function jq(options: JqSourceOptions): JobSource {
  return new JqSource(options);
}

/** A master's `silence` is longer than the interval of pings by more than this. */
const UNHEARD_MS = 5000;
/** What is read within this time after a stall may have been sent before or during it. */
const RECENT_MS = 1000;
/** A pull whose reply was under way for longer may bring a job whose time was up meanwhile: no timeout is shorter. */
const SLOW_LINE_MS = 900;

class JqSource implements JobSource, SourceMonitor {
  static {
    showAs(JqSource, ({ address, registrations }) => ({
      master: address,
      functions: registrations.served(),
    }));
  }

  readonly monitor = this;
  readonly capabilities = {
    ...ALL_CAPABILITIES,
    count: false,
    scheduled: false,
    progress: false,
    leases: false,
    options: false,
    snooze: false,
    steps: false,
    limits: false,
  };
  readonly system = 'jq';
  readonly client = 'JqClient (nestjs-gearmonkey/jq)';
  readonly codec = messagePack;
  readonly leases: SourceLeases = { mayBeLost: (claim) => this.mayBeLost(claim) };
  readonly tables: SourceTables;
  private readonly http: MasterHttp;
  private readonly inbox: Inbox;
  private readonly reports: Reports;
  private readonly registrations: Registrations;
  private readonly server: PushServer | undefined;
  private stalls?: StallWatch;
  private readonly settings: SourceSettings;
  private readonly leaving = new AbortController();
  private readonly startPings: () => NodeJS.Timeout;
  private pings?: NodeJS.Timeout;
  private opening?: Promise<string | undefined>;
  private closing?: Promise<void>;

  constructor(options: JqSourceOptions) {
    const settings = (this.settings = sourceSettings(options));
    const { listen, name = `${hostname()}:${process.pid}` } = options;
    const leaving = this.leaving.signal;
    // One listener for each request under way.
    setMaxListeners(0, leaving);
    const log = nestLog('JqWorker');
    const onProblem = throttledLog(options.onProblem ?? ((message) => log.warn(message)));
    this.http = new MasterHttp(options);
    this.tables = tablesOf(
      (method, path) => this.http.request(method, path, {}),
      (body, key) => this.http.request('POST', '/job', { body, headers: { 'idempotency-key': key } }),
    );
    this.inbox = new Inbox(settings.maxJobs);
    this.reports = new Reports(this.http, leaving, onProblem);
    const parts = { http: this.http, inbox: this.inbox, settings, name, pulls: !listen, onProblem };
    this.registrations = new Registrations(parts);
    this.inbox.onRoom = () => this.registrations.pull();
    // Rejects when the worker leaves: then the master gives back all of its jobs.
    this.inbox.onUnclaimed = (job) =>
      void this.reports.send(job, { claim: job.claim, status: 'released' }).catch(() => undefined);
    const hasKey = (key: string) => this.registrations.hasKey(key);
    this.server = listen && new PushServer(listen, settings, this.onPush, hasKey);
    this.startPings = () => setInterval(() => this.registrations.ping(), settings.pingInterval).unref();
    hideFields(this);
  }

  get address(): string {
    return this.http.url;
  }

  /** Listens. Functions are registered with the first claim, when their slots are known. */
  async open(functions: readonly string[], onRevoked: OnRevoked = this.inbox.onRevoked): Promise<void> {
    this.inbox.onRevoked = onRevoked;
    this.registrations.serve(functions);
    this.pings ??= this.startPings();
    this.stalls ??= new StallWatch();
    const listening = async () => this.server?.listen();
    await (this.opening = this.opening?.catch(listening) ?? listening());
  }

  async claim(slots: FreeSlots, signal: AbortSignal): Promise<readonly Claim[]> {
    if (signal.aborted) return [];
    const url = await this.opening;
    return this.registrations.during(slots, url, () => this.inbox.claim(slots, signal));
  }

  /** Whether the master may have given its job to another: the line or this process was slow, or it was not heard for long. */
  private mayBeLost(claim: Claim): boolean {
    const job = this.inbox.jobOf(claim);
    // A master that only implements the contract has no attempts, and nothing to ask for.
    if (job?.attempt === undefined) return false;
    const { arrivedAt, handedAt, confirmedAt, registration } = job;
    if (arrivedAt - handedAt > SLOW_LINE_MS && confirmedAt < arrivedAt) return true;
    const lastStall = this.stalls?.lastStall ?? -Infinity;
    if (lastStall > Math.max(arrivedAt - RECENT_MS, confirmedAt)) return true;
    const unheard = realNow() - this.settings.pingInterval - UNHEARD_MS;
    return Math.max(registration.heardAt, confirmedAt) < unheard;
  }

  /** A worker has its jobs until their timeout, which the master enforces; pings show that it is alive. It is asked only before a job is begun. */
  async renew(claims: readonly Claim[]): Promise<readonly Claim[]> {
    const isHeld = await Promise.all(claims.map((claim) => this.confirm(claim)));
    return claims.filter((_, index) => !isHeld[index]);
  }

  /** Does nothing: JQ has no progress. */
  async progress(): Promise<boolean> {
    return true;
  }

  async settle(outcomes: readonly Outcome[]): Promise<readonly Claim[]> {
    const taken = await Promise.all(outcomes.map((outcome) => this.report(outcome)));
    return outcomes.filter((_, index) => !taken[index]).map(({ claim }) => claim);
  }

  health(): Health {
    return this.http.health();
  }

  overview(): Promise<QueueOverview[]> {
    return readOverview((path) => this.http.request('GET', path, {}));
  }

  /** Any answer will do. @throws ConnectionError after `timeout` milliseconds */
  reach(timeout: number): Promise<void> {
    return this.http.reach(timeout);
  }

  withdraw(functions: readonly string[]): Promise<void> {
    return this.registrations.withdraw(functions);
  }

  close(): Promise<void> {
    return (this.closing ??= this.leave());
  }

  private async confirm(claim: Claim): Promise<boolean> {
    const job = this.inbox.jobOf(claim);
    if (job?.attempt === undefined) return true;
    const asked = realNow();
    const isHeld = await job.registration.confirm(claim.id, job.attempt);
    if (isHeld) job.confirmedAt = asked;
    else this.inbox.release(claim);
    return isHeld;
  }

  private async leave(): Promise<void> {
    clearInterval(this.pings);
    this.stalls?.close();
    this.leaving.abort(new Error('The worker is closed.'));
    await this.registrations.close();
    await this.opening?.catch(() => undefined);
    await this.server?.close();
    await this.http.close();
  }

  /** The registration by the key in the path; without a key, by the name. */
  private readonly onPush = async (job: WorkerJob, origin: Origin): Promise<PushStatus> => {
    if (this.leaving.signal.aborted) return 503;
    const registration = this.registrations.addressee(job, origin.key);
    if (typeof registration === 'number') return registration;
    const arrived = await this.inbox.arrive(job, registration, origin);
    return arrived === 'taken' ? 202 : arrived === 'full' ? 429 : 503;
  };

  /** The attempt lets the master recognize repeated and stale outcomes. */
  private async report(outcome: Outcome): Promise<boolean> {
    const job = this.inbox.release(outcome.claim);
    if (!job) return false;
    const { registration } = job;
    registration.reporting.add(job);
    try {
      return await this.reports.send(job, outcome);
    } finally {
      registration.reporting.delete(job);
      this.registrations.reported(registration);
    }
  }
}

const REPEAT_MS = 30_000;

const MOST = 100;

/** Logs the same message at most once in half a minute. */
function throttledLog(
  say: (message: string) => void,
  now = () => performance.now(),
): (message: string) => void {
  const said = new Map<string, number>();
  return (message) => {
    const last = said.get(message);
    if (last !== undefined && now() - last < REPEAT_MS) return;
    if (said.size >= MOST) said.clear();
    said.set(message, now());
    say(message);
  };
}
