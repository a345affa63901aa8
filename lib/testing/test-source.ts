import type { Clock } from '../job/clock.js';
import type { Claim, FreeSlots, JobSource, OnRevoked, Outcome, SourceLimit } from '../job/job-source.js';
import { showAs } from '../job/show-as.js';
import { ALL_CAPABILITIES } from '../job/source-capabilities.js';
import { HeldJobs } from './held-jobs.js';
import { hasExpired, type JobName, type JobRecords } from './job-records.js';
import { turnOfEventLoop } from './real-time.js';
import { ENDINGS, type Ending, type Permit, type Permits } from './run-permits.js';
import { runnableOf, waitingOf, type TestBackend } from './test-backend.js';
import type { WaitingJob } from './waiting-jobs.js';
import { tickNow, type Ticked } from './test-ticks.js';
import type { Changes } from './changes.js';
import type { FlowEnds } from './flow-ends.js';

/** The source of a test's jobs. A worker gets those that the test allows and that are due by the test's clock. */
export class TestSource implements JobSource {
  static {
    showAs(TestSource, ({ parts, opened }) => ({
      server: parts.backend.store.address,
      functions: opened.names,
    }));
  }

  readonly system = 'gearmonkey';
  readonly capabilities = ALL_CAPABILITIES;
  readonly clock: Clock;
  readonly address: string;
  readonly records: TestSourceParts['backend']['records'];
  readonly client?: string;
  readonly limits = { set: (fn: string, limit: SourceLimit) => this.opened.limitBy(fn, limit) };
  /** A test reads its jobs as long as it runs. */
  readonly keep = { set: () => undefined };
  /** Whether the app is closing: its worker then releases running jobs, and tests don't wait for them. */
  readonly takeNoMore: () => void;
  private readonly opened: OpenFunctions;
  private readonly held = new HeldJobs();
  private onRevoked: OnRevoked = () => undefined;
  /** No job is claimed while one is being prepared. */
  private pauses = 0;
  private readonly requests = new Requests();

  constructor(private readonly parts: TestSourceParts) {
    this.clock = parts.clock;
    this.records = parts.backend.records;
    this.opened = new OpenFunctions(parts.backend);
    this.takeNoMore = parts.onClose;
    this.address = `${parts.backend.store.address} (a test)`;
    if (parts.client !== undefined) this.client = parts.client;
  }

  /** The functions that have a handler here. */
  get functions(): readonly string[] {
    return this.opened.names;
  }

  async open(functions: readonly string[], onRevoked: OnRevoked = this.onRevoked): Promise<void> {
    this.onRevoked = onRevoked;
    await this.opened.add(functions);
  }

  async claim(slots: FreeSlots, signal: AbortSignal): Promise<readonly Claim[]> {
    const { changes } = this.parts;
    const ignoreSlots = slots.onFree(changes.tell);
    signal.addEventListener('abort', changes.tell, { once: true });
    try {
      while (!signal.aborted) {
        // Otherwise jobs that wait for each other would keep timers from running.
        await turnOfEventLoop();
        const seen = changes.version;
        const claims = signal.aborted ? [] : await this.requests.add(this.takeAllowed(slots));
        if (claims.length > 0) return claims;
        if (!signal.aborted) await changes.since(seen);
      }
      return [];
    } finally {
      signal.removeEventListener('abort', changes.tell);
      ignoreSlots();
    }
  }

  /** Leases don't expire by themselves, so there is nothing to renew. */
  async renew(claims: readonly Claim[]): Promise<readonly Claim[]> {
    return claims.filter((claim) => !this.held.has(claim));
  }

  progress(claim: Claim, dividend: number, divisor: number): Promise<boolean> {
    return this.parts.backend.progress(claim, dividend, divisor);
  }

  async settle(outcomes: readonly Outcome[]): Promise<readonly Claim[]> {
    const refused: Claim[] = [];
    for (const outcome of outcomes) {
      if (await this.requests.add(this.parts.backend.settle(outcome)))
        this.note(outcome.claim, ENDINGS[outcome.status]);
      else refused.push(outcome.claim);
      this.held.drop(outcome.claim);
    }
    await this.parts.ends.note();
    this.parts.changes.tell();
    return refused;
  }

  withdraw(functions: readonly string[]): Promise<void> {
    return this.opened.remove(functions);
  }

  async close(): Promise<void> {
    await this.withdraw(this.functions);
  }

  /** Jobs that a worker of this source has, that wait for one, or that are being enqueued. */
  async hasWork({ allows }: Permit): Promise<boolean> {
    const { instance, records, backend } = this.parts;
    if (records.isChanging) return true;
    const isRunning = () => this.running().some(({ fn, id }) => allows(instance, fn, id));
    if (isRunning()) return true;
    const isDue = await isAnyDue(backend, this.functions, this.clock.now(), (...job) =>
      allows(instance, ...job),
    );
    // Meanwhile one may have been claimed, so that it does not wait any more.
    return isDue || isRunning();
  }

  waiting(): Promise<NamedJob[]> {
    return waitingJobs(this.parts.backend, this.functions);
  }

  /** When the next allowed job is due that is not due yet. */
  nextDue({ allows }: Permit): Promise<number> {
    const { backend, instance } = this.parts;
    return nextDueOf(backend, this.functions, this.clock.now(), (...job) => allows(instance, ...job));
  }

  /** Creates the recurring jobs of its functions that are due. */
  async tick(): Promise<Ticked> {
    const ticked = await this.requests.add(tickNow(this.parts, this.functions));
    if (ticked.created > 0) this.parts.changes.tell();
    return ticked;
  }

  running(): JobName[] {
    return this.held.all();
  }

  /** Prepares a job before any worker can claim it. */
  async prepare<T>(make: () => Promise<T>): Promise<T> {
    this.pauses += 1;
    try {
      return await make();
    } finally {
      this.pauses -= 1;
    }
  }

  /** Called when the handler of the job begins. */
  begin(job: JobName): void {
    this.held.begin(job);
  }

  handles(job: JobName): boolean {
    return this.held.running(job) !== undefined;
  }

  /** Ends the lease of a running job, as if its worker had not renewed it in time. */
  lose({ fn, id }: JobName): Promise<void> {
    const { backend, ends } = this.parts;
    return this.end({ fn, id }, 'lost', async (claim) => {
      await backend.expire(claim);
      const [stored] = await backend.store.read(fn, [id]);
      if (!stored?.has('finished')) return;
      this.note({ fn, id }, 'failed');
      await ends.note();
    });
  }

  /** Cancels a job while its handler runs. */
  cancel(job: JobName, cancel: () => Promise<unknown>): Promise<void> {
    return this.end(job, 'cancelled', cancel);
  }

  /** A job was cancelled, or has expired: so may those that waited for it. */
  async ended(job: JobName): Promise<void> {
    this.noteEnd(job);
    await this.parts.ends.note();
  }

  noteEnd(job: JobName): void {
    const claim = this.held.claimOf(job);
    this.note(job, 'failed');
    if (claim) this.revoke(claim, 'cancelled');
    this.parts.changes.tell();
  }

  /** Whether a request to the server is under way. */
  get isAsking(): boolean {
    return this.requests.areUnderWay;
  }

  /** Aborts the handler before the server replies, which may take longer. */
  private async end(
    job: JobName,
    why: 'lost' | 'cancelled',
    tellServer: (claim: Claim) => Promise<unknown>,
  ): Promise<void> {
    const claim = this.held.running(job);
    if (!claim) return;
    this.revoke(claim, why);
    const told = this.requests.add(tellServer(claim));
    await this.held.whileEnding(job, told).finally(this.parts.changes.tell);
  }

  private revoke(claim: Claim, why: 'lost' | 'cancelled'): void {
    this.held.drop(claim);
    this.onRevoked(claim, why);
  }

  private async takeAllowed(slots: FreeSlots): Promise<Claim[]> {
    const claims: Claim[] = [];
    for (const { fn, jobs } of await runnableOf(this.parts.backend, slots.functions()))
      claims.push(...(await this.takeOf(fn, jobs, slots.of(fn))));
    if (claims.length > 0) this.parts.changes.tell();
    return claims;
  }

  private async takeOf(fn: string, jobs: Iterable<WaitingJob>, most: number): Promise<Claim[]> {
    const { backend, permits, instance, records } = this.parts;
    const now = this.clock.now();
    const claims: Claim[] = [];
    for (const { id, due } of jobs) {
      if (claims.length === most || this.pauses > 0) break;
      if (due > now || !permits.allows(instance, fn, id)) continue;
      const claim = await this.held.take(fn, id, () => backend.take(fn, id));
      if (claim && claims.push(claim)) records.note(fn, id, 'started');
      else if (!claim && hasExpired(records.get(fn, id), now)) await this.expire(fn, id, now);
    }
    return claims;
  }

  /** One whose limit prevents a claim has not been ended by it. */
  private async expire(fn: string, id: string, now: number): Promise<void> {
    if ((await this.parts.backend.store.expire(fn, { id }, now)) === 0) await this.ended({ fn, id });
  }

  private note({ fn, id }: JobName, ending: Ending | undefined): void {
    if (ending === undefined) return;
    this.parts.records.note(fn, id, ending);
    this.parts.permits.count(this.parts.instance, fn, id, ending);
  }
}

/** A waiting job and its function. */
interface NamedJob extends WaitingJob {
  readonly fn: string;
}

type Allows = (fn: string, id: string) => boolean;

/** The waiting jobs of some functions. */
async function waitingJobs(backend: TestBackend, functions: readonly string[]): Promise<NamedJob[]> {
  const all = await waitingOf(backend, functions);
  return all.flatMap(({ fn, jobs }) => [...jobs].map((job) => ({ fn, ...job })));
}

/** Whether an allowed job may run now. */
async function isAnyDue(
  backend: TestBackend,
  functions: readonly string[],
  now: number,
  allows: Allows,
): Promise<boolean> {
  for (const { fn, jobs } of await runnableOf(backend, functions))
    for (const { id, due } of jobs) if (due <= now && allows(fn, id)) return true;
  return false;
}

/** When the next allowed job is due that is not due yet. */
async function nextDueOf(
  backend: TestBackend,
  functions: readonly string[],
  now: number,
  allows: Allows,
): Promise<number> {
  let next = Infinity;
  for (const { fn, jobs } of await runnableOf(backend, functions))
    for (const { id, due } of jobs) if (due > now && due < next && allows(fn, id)) next = due;
  return next;
}

/** The functions that have a handler in a test. */
class OpenFunctions {
  private readonly opened = new Set<string>();
  private readonly limits = new Map<string, SourceLimit>();

  constructor(private readonly backend: Pick<TestBackend, 'count' | 'setLimit'>) {}

  get names(): readonly string[] {
    return [...this.opened];
  }

  /** Sets the limit of a function that is added next. */
  limitBy(fn: string, limit: SourceLimit): void {
    this.limits.set(fn, limit);
  }

  async add(functions: readonly string[]): Promise<void> {
    for (const fn of functions.filter((name) => !this.opened.has(name))) {
      this.opened.add(fn);
      await this.backend.setLimit(fn, this.limits.get(fn));
      await this.backend.count(fn, 1);
    }
  }

  async remove(functions: readonly string[]): Promise<void> {
    for (const fn of functions) {
      this.limits.delete(fn);
      if (this.opened.delete(fn)) await this.backend.count(fn, -1);
    }
  }
}

/** Counts requests to a server that have no reply yet. */
class Requests {
  private underWay = 0;

  get areUnderWay(): boolean {
    return this.underWay > 0;
  }

  async add<T>(request: Promise<T>): Promise<T> {
    this.underWay += 1;
    try {
      return await request;
    } finally {
      this.underWay -= 1;
    }
  }
}

/** The parts that a source shares with the rest of its test. */
interface TestSourceParts {
  readonly instance: string;
  readonly clock: Clock;
  readonly backend: TestBackend;
  readonly records: JobRecords;
  readonly permits: Permits;
  readonly changes: Changes;
  readonly ends: FlowEnds;
  readonly onClose: () => void;
  /** Whether schedules create jobs. */
  readonly recurring: boolean;
  /** The client that enqueues its jobs, if it is not a GearMonkeyClient. */
  readonly client?: string | undefined;
}
