import { setMaxListeners } from 'node:events';
import { messageOf } from '../../job/errors.js';
import type { FreeSlots } from '../../job/job-source.js';
import type { MasterHttp } from '../http/master-http.js';
import { MAX_BATCH, MAX_BATCH_BYTES } from '../wire/batch.js';
import type { WorkerJob } from '../wire/worker-job.js';
import type { Inbox } from './inbox.js';
import { Puller } from './puller.js';
import { Registration } from './registration.js';
import type { SourceSettings } from './source-options.js';

/** How long a leaving worker waits for the master's answer. */
const LEAVE_TIMEOUT_MS = 2000;

/** The parts of a source that its registrations use. */
export interface RegistrationsParts {
  readonly http: MasterHttp;
  readonly inbox: Inbox;
  readonly settings: Pick<SourceSettings, 'maxJobs' | 'maxBodyBytes' | 'pingInterval'>;
  /** The worker's name in lists. */
  readonly name: string;
  /** Whether jobs are pulled, not pushed. */
  readonly pulls: boolean;
  readonly onProblem: (message: string) => void;
}

/**
 * The registrations of one source: the first claim of a function registers its slots, and a later one with more slots
 * registers the difference. Pulls the jobs of waiting claims, unless they are pushed.
 */
export class Registrations {
  private all: readonly Registration[] = [];
  /** Those of functions that are not served any more whose reports the master does not have yet: else it gives their jobs to others. */
  private readonly leaving = new Set<Registration>();
  private functions: ReadonlySet<string> = new Set();
  private readonly pullers = new Map<Registration, Puller>();
  /** The free slots of the waiting claim. */
  private slots: FreeSlots | undefined;

  constructor(private readonly parts: RegistrationsParts) {}

  /** Whether a registration of this process has the key. */
  hasKey(key: string): boolean {
    return this.atMaster().some((each) => each.key === key);
  }

  /** The registration that a push is for: 410 if there is none with its key, 404 if that one has another name. */
  addressee(job: WorkerJob, key: string | undefined): Registration | 404 | 410 {
    const addressed = this.atMaster().filter((each) => key === undefined || each.key === key);
    if (addressed.length === 0) return 410;
    return addressed.find((each) => each.takes(job) && !this.leaving.has(each)) ?? 404;
  }

  /** Allows to register these functions. */
  serve(functions: readonly string[]): void {
    this.functions = new Set([...this.functions, ...functions]);
  }

  served(): readonly string[] {
    return [...this.functions];
  }

  /** Registers the free slots, and pulls jobs for them until `claim` has resolved. @param url where pushes arrive */
  async during<T>(slots: FreeSlots, url: string | undefined, claim: () => Promise<T>): Promise<T> {
    await this.announceAll(slots, url);
    this.slots = slots;
    const ignoreSlots = slots.onFree(() => void this.announceAll(slots, url).then(() => this.pull()));
    try {
      this.pull();
      return await claim();
    } finally {
      ignoreSlots();
      this.slots = undefined;
    }
  }

  /** Pulls jobs for functions whose handlers wait; if they are pushed, only for those that were refused. */
  pull(): void {
    if (!this.parts.pulls) return this.pullInTurn();
    const waiting = this.slots?.functions() ?? [];
    for (const [{ fn }, puller] of this.pullers) if (waiting.includes(fn)) puller.want();
  }

  ping(): void {
    for (const registration of this.atMaster()) void registration.ping();
  }

  /** The master has a report of a job, or has refused it. */
  reported(registration: Registration): void {
    if (registration.reporting.size === 0 && this.leaving.delete(registration)) void this.end([registration]);
    this.pull();
  }

  /** Ends all, also those that leave. */
  close(): Promise<void> {
    const leaving = [...this.leaving];
    this.leaving.clear();
    return this.end([...this.take(this.served()), ...leaving]);
  }

  /** Ends the registrations of these functions, those with reports under way once these are answered. */
  withdraw(functions: readonly string[]): Promise<void> {
    const withdrawn = this.take(functions);
    for (const each of withdrawn) if (each.reporting.size > 0) this.leaving.add(each);
    return this.end(withdrawn.filter((each) => !this.leaving.has(each)));
  }

  /** Serves these functions no more. Returns their registrations. */
  private take(functions: readonly string[]): readonly Registration[] {
    const taken = this.all.filter(({ fn }) => functions.includes(fn));
    this.functions = new Set(this.served().filter((fn) => !functions.includes(fn)));
    this.all = this.all.filter((each) => !taken.includes(each));
    for (const registration of taken) {
      this.pullers.delete(registration);
      this.parts.inbox.turns.leave(registration);
    }
    return taken;
  }

  private atMaster(): readonly Registration[] {
    return [...this.all, ...this.leaving];
  }

  private async end(registrations: readonly Registration[]): Promise<void> {
    const deadline = AbortSignal.timeout(LEAVE_TIMEOUT_MS);
    // One listener for each of them, and for each of their requests.
    setMaxListeners(0, deadline);
    const end = (registration: Registration) =>
      registration.end(deadline).catch((error: unknown) => {
        this.parts.onProblem(`The master could not be told that the worker leaves: ${messageOf(error)}`);
      });
    await Promise.all(registrations.map(end));
  }

  private async announceAll(slots: FreeSlots, url: string | undefined): Promise<void> {
    if (slots.functions().some((fn) => this.missing(fn, slots.of(fn)) > 0)) await nextTick();
    for (const fn of slots.functions()) this.announce(fn, slots.of(fn), url);
  }

  /** Registers a further worker if there are more held and free slots than were announced. */
  private announce(fn: string, free: number, url: string | undefined): void {
    const { http, inbox, settings, name, onProblem } = this.parts;
    const missing = this.missing(fn, free);
    if (missing <= 0 || !this.functions.has(fn)) return;
    const registration = new Registration({
      http,
      fn,
      maxJobs: missing,
      name,
      url,
      pingInterval: settings.pingInterval,
      batch: settings.maxBodyBytes < MAX_BATCH_BYTES ? 1 : MAX_BATCH,
      onProblem,
      onLost: (lost) => inbox.revoke(lost),
    });
    this.all = [...this.all, registration];
    registration.ready().catch(() => undefined);
    this.pullers.set(registration, this.puller(registration));
  }

  /** Gives free places to functions whose pushes were refused. */
  private pullInTurn(): void {
    const { inbox } = this.parts;
    while (!inbox.isCrowded) {
      const next = inbox.turns.begin(
        (each) => this.pullers.get(each)?.isPulling === false && this.hasRoom(each),
      );
      const pulled = next && this.pullers.get(next)?.pullOne();
      if (!pulled) return;
      void pulled.then((mayHaveJob) => {
        inbox.turns.end(next, mayHaveJob);
        inbox.makeUse();
      });
    }
  }

  /** Whether it has a slot, here and at the master. */
  private hasRoom({ fn, workerId, held, reporting, maxJobs }: Registration): boolean {
    if (workerId === undefined || held.size + reporting.size >= maxJobs) return false;
    const { inbox } = this.parts;
    return (this.slots?.of(fn) ?? 0) > inbox.takenOf(fn) + inbox.turns.keptFor(fn);
  }

  private missing(fn: string, free: number): number {
    const mine = this.all.filter((registration) => registration.fn === fn);
    const known = mine.reduce((sum, { maxJobs }) => sum + maxJobs, 0);
    const held = mine.reduce((sum, registration) => sum + registration.held.size, 0);
    const { inbox, settings } = this.parts;
    return Math.min(held + free - inbox.takenOf(fn), settings.maxJobs) - known;
  }

  private puller(registration: Registration): Puller {
    const { http, inbox, pulls, onProblem } = this.parts;
    const hasSlot = ({ fn }: Registration) => (this.slots?.of(fn) ?? 0) > inbox.takenOf(fn);
    return new Puller({
      http,
      registration,
      wanted: () => pulls && !inbox.isFull && hasSlot(registration),
      onJob: ({ job, handedAt }) => void inbox.arrive(job, registration, undefined, handedAt),
      onProblem,
    });
  }
}

/** Waits until outcomes of freed slots are handed in, so that their jobs are no longer held. */
function nextTick(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}
