import { setMaxListeners } from 'node:events';
import { hostname } from 'node:os';
import { messageOf } from '../../job/errors.js';
import type { Health } from '../../job/health.js';
import type { Claim, FreeSlots, JobSource, OnRevoked, Outcome } from '../../job/job-source.js';
import { ALL_CAPABILITIES } from '../../job/source-capabilities.js';
import { nestLog } from '../../nest/nest-log.js';
import { MasterHttp } from '../http/master-http.js';
import { messagePack } from '../message-pack/codec.js';
import { MAX_BATCH, MAX_BATCH_BYTES } from '../wire/batch.js';
import type { WorkerJob } from '../wire/worker-job.js';
import { Inbox } from './inbox.js';
import { Puller } from './puller.js';
import { throttledLog } from './throttled-log.js';
import { PushServer } from './push-server.js';
import type { Origin, PushStatus } from './pushes.js';
import { Registration } from './registration.js';
import { Reports } from './reports.js';
import { sourceSettings, type JqSourceOptions, type SourceSettings } from './source-options.js';
import { hideFields, showAs } from '../../job/show-as.js';

/** How long a leaving worker waits for the master's answer. */
const LEAVE_TIMEOUT_MS = 2000;

/**
 * Runs the jobs of a JQ master: `GearMonkeyModule.forRoot({ source: jq({ master, listen }) })`. The master pushes
 * them to where it listens; without `listen` they are pulled. JQ has no progress: it is not recorded.
 *
 * @throws InvalidOptionError, ConfigurationError
 */
export function jq(options: JqSourceOptions): JobSource {
  return new JqSource(options);
}

class JqSource implements JobSource {
  static {
    showAs(JqSource, ({ address, functions }) => ({ master: address, functions: [...functions] }));
  }

  readonly capabilities = {
    ...ALL_CAPABILITIES,
    count: false,
    scheduled: false,
    progress: false,
    leases: false,
    options: false,
    snooze: false,
  };
  readonly client = 'JqClient (nestjs-gearmonkey/jq)';
  readonly codec = messagePack;
  private readonly settings: SourceSettings;
  private readonly http: MasterHttp;
  private readonly inbox: Inbox;
  private readonly reports: Reports;
  private readonly server: PushServer | undefined;
  private readonly leaving = new AbortController();
  private registrations: readonly Registration[] = [];
  private readonly pullers = new Map<string, Puller[]>();
  private readonly onProblem: (message: string) => void;
  /** How many jobs of each function the waiting claim would take. */
  private slots: FreeSlots | undefined;
  private opening?: Promise<string | undefined>;
  private pings?: NodeJS.Timeout;
  private closing?: Promise<void>;
  private functions: ReadonlySet<string> = new Set();

  constructor(private readonly options: JqSourceOptions) {
    this.settings = sourceSettings(options);
    this.http = new MasterHttp(options);
    this.inbox = new Inbox(this.settings.maxJobs);
    this.inbox.onRoom = () => this.pull();
    // One listener for each request under way.
    setMaxListeners(0, this.leaving.signal);
    const log = nestLog('JqWorker');
    this.onProblem = throttledLog(options.onProblem ?? ((message) => log.warn(message)));
    this.reports = new Reports(this.http, this.leaving.signal, this.onProblem);
    this.server =
      options.listen &&
      new PushServer(options.listen, this.settings, this.onPush, (key) =>
        this.registrations.some((each) => each.key === key),
      );
    hideFields(this);
  }

  get address(): string {
    return this.http.url;
  }

  /** Listens. Functions are registered with the first claim, when their slots are known. */
  async open(functions: readonly string[], onRevoked: OnRevoked = this.inbox.onRevoked): Promise<void> {
    this.inbox.onRevoked = onRevoked;
    this.functions = new Set([...this.functions, ...functions]);
    this.pings ??= setInterval(() => this.ping(), this.settings.pingInterval).unref();
    await (this.opening ??= this.server?.listen() ?? Promise.resolve(undefined));
  }

  async claim(slots: FreeSlots, signal: AbortSignal): Promise<readonly Claim[]> {
    if (signal.aborted) return [];
    const url = await this.opening;
    await this.announceAll(slots, url);
    this.slots = slots;
    const ignoreSlots = slots.onFree(() => void this.announceAll(slots, url).then(() => this.pull()));
    try {
      this.pull();
      return await this.inbox.claim(slots, signal);
    } finally {
      ignoreSlots();
      this.slots = undefined;
    }
  }

  /** A worker has its jobs until their timeout, which the master enforces. Pings show that it is alive. */
  async renew(): Promise<readonly Claim[]> {
    return [];
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

  /** Any answer will do. @throws ConnectionError after `timeout` milliseconds */
  reach(timeout: number): Promise<void> {
    return this.http.reach(timeout);
  }

  async withdraw(functions: readonly string[]): Promise<void> {
    const withdrawn = this.registrations.filter(({ fn }) => functions.includes(fn));
    for (const fn of functions) this.pullers.delete(fn);
    this.functions = new Set([...this.functions].filter((fn) => !functions.includes(fn)));
    this.registrations = this.registrations.filter((each) => !withdrawn.includes(each));
    await this.unregister(withdrawn);
  }

  close(): Promise<void> {
    return (this.closing ??= this.leave());
  }

  private async leave(): Promise<void> {
    clearInterval(this.pings);
    this.leaving.abort(new Error('The worker is closed.'));
    await this.unregister(this.registrations);
    await this.opening?.catch(() => undefined);
    await this.server?.close();
    await this.http.close();
  }

  private async unregister(registrations: readonly Registration[]): Promise<void> {
    const deadline = AbortSignal.timeout(LEAVE_TIMEOUT_MS);
    const unregister = (registration: Registration) =>
      registration.unregister(deadline).catch((error: unknown) => {
        this.onProblem(`The master could not be told that the worker leaves: ${messageOf(error)}`);
      });
    await Promise.all(registrations.map(unregister));
  }

  private ping(): void {
    for (const registration of this.registrations) void registration.ping();
  }

  private async announceAll(slots: FreeSlots, url: string | undefined): Promise<void> {
    if (slots.functions().some((fn) => this.missing(fn, slots.of(fn)) > 0)) await nextTick();
    for (const fn of slots.functions()) this.announce(fn, slots.of(fn), url);
  }

  /** Registers a further worker if there are more held and free slots than were announced. */
  private announce(fn: string, free: number, url: string | undefined): void {
    const missing = this.missing(fn, free);
    if (missing <= 0 || !this.functions.has(fn) || this.leaving.signal.aborted) return;
    const registration = new Registration(this.http, {
      fn,
      maxJobs: missing,
      name: this.options.name ?? `${hostname()}:${process.pid}`,
      url,
      batch: this.settings.maxBodyBytes < MAX_BATCH_BYTES ? 1 : MAX_BATCH,
      signal: this.leaving.signal,
      onProblem: this.onProblem,
      onForgotten: (forgotten) => this.inbox.revoke(forgotten),
    });
    this.registrations = [...this.registrations, registration];
    registration.ready().catch(() => undefined);
    if (!this.server) this.pullers.set(fn, [...(this.pullers.get(fn) ?? []), this.puller(registration)]);
  }

  private missing(fn: string, free: number): number {
    const mine = this.registrations.filter((registration) => registration.fn === fn);
    const known = mine.reduce((sum, { maxJobs }) => sum + maxJobs, 0);
    const held = mine.reduce((sum, registration) => sum + registration.held, 0);
    return Math.min(held + free, this.settings.maxJobs) - known;
  }

  /** Pulls jobs for functions whose handlers wait. */
  private pull(): void {
    for (const fn of this.slots?.functions() ?? [])
      for (const puller of this.pullers.get(fn) ?? []) puller.want();
  }

  private puller(registration: Registration): Puller {
    return new Puller({
      http: this.http,
      registration,
      signal: this.leaving.signal,
      wanted: () => !this.inbox.isFull && (this.slots?.of(registration.fn) ?? 0) > 0,
      onJob: (job) => void this.inbox.arrive(job, registration),
      onProblem: this.onProblem,
    });
  }

  /** The registration by the key in the path; without a key, by the name. */
  private readonly onPush = async (job: WorkerJob, { key, onGone }: Origin): Promise<PushStatus> => {
    if (this.leaving.signal.aborted) return 503;
    const addressed = this.registrations.filter((each) => key === undefined || each.key === key);
    if (addressed.length === 0) return 410;
    const registration = addressed.find((each) => each.takes(job));
    if (!registration) return 404;
    const arrived = await this.inbox.arrive(job, registration, onGone);
    return arrived === 'taken' ? 202 : arrived === 'full' ? 429 : 503;
  };

  /** The attempt lets the master recognize repeated and stale outcomes. */
  private async report(outcome: Outcome): Promise<boolean> {
    const job = this.inbox.release(outcome.claim);
    return job ? this.reports.send(job, outcome) : false;
  }
}

/** Waits until outcomes of freed slots are handed in, so that their jobs are no longer held. */
function nextTick(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}
