import { MAX_TIMER_MS } from '../../job/duration.js';
import type { Claim, FreeSlots, OnRevoked } from '../../job/job-source.js';
import { realNow } from '../../job/real-time.js';
import type { WorkerJob } from '../wire/worker-job.js';
import type { Registration } from './registration.js';
import { ReplayCache } from './replay-cache.js';
import { Turns } from './turns.js';

/** How long a pushed job waits for a claim: a running worker claims again almost at once. */
const PATIENCE_MS = 100;
/** The same of a pulled one, which is this worker's already: it has to be given back. */
const PULLED_PATIENCE_MS = 1000;
/**
 * How long an answered push is remembered. After a broken connection a master sends it again, within its `pushTimeout`; by then
 * the job may have been run and reported.
 */
const REPLAY_MS = 15_000;

/** A job of this process: taken from the master, and not reported yet. */
export interface HeldJob {
  readonly claim: Claim;
  readonly registration: Registration;
  /** The worker that the master gave it to; absent if it came before the reply to the registration. */
  readonly workerId: string | undefined;
  readonly attempt: number | undefined;
  /** When it arrived, by `realNow`, and the earliest moment at which its master may have handed it out. */
  readonly arrivedAt: number;
  readonly handedAt: number;
  /** When the master was last asked whether this worker still has it, and said so. */
  confirmedAt: number;
}

/** The result of a job's arrival. This worker has it only if it is `taken`. */
export type Delivery = 'taken' | 'full' | 'unclaimed';

interface Arrival {
  readonly job: HeldJob;
  /** Absent for a pulled one. */
  readonly request: PushRequest | undefined;
  end(how: Delivery): void;
}

/** A claim that waits for jobs. */
interface WaitingClaim {
  readonly slots: FreeSlots;
  end(): void;
}

/** The request of a push. */
export interface PushRequest {
  /** Calls back when its sender no longer waits. */
  onGone(callback: () => void): void;
  /** Calls back once it is answered, or its sender has gone before that. */
  onAnswered(callback: (isThere: boolean) => void): void;
}

/** Matches jobs that arrive with claims that wait for them. */
export class Inbox {
  onRevoked: OnRevoked = () => undefined;
  /** Called when it is no longer full. */
  onRoom: () => void = () => undefined;
  /** Called with a job that the master has given to this worker, and that no claim has returned: it has to go back. */
  onUnclaimed: (job: HeldJob) => void = () => undefined;
  /** Of registrations whose pushes were refused. */
  readonly turns = new Turns();
  private readonly held = new Map<string, HeldJob>();
  private readonly claimed = new WeakMap<Claim, HeldJob>();
  /** Those of them that no claim has returned yet, in order: ready, or with the push whose answer they wait for. */
  private readonly taken = new Map<HeldJob, PushRequest | 'ready'>();
  private readonly arrivals = new Set<Arrival>();
  /** The pushes whose answer has been sent: they may come again. */
  private readonly answered = new ReplayCache(REPLAY_MS);
  private waiting?: WaitingClaim;

  constructor(private readonly maxJobs: number) {}

  /** Whether it holds as many jobs as all functions together may run. */
  get isFull(): boolean {
    return this.held.size >= this.maxJobs;
  }

  /** Whether it has no place for a push: those that are kept are for jobs that are being pulled. */
  get isCrowded(): boolean {
    return this.held.size + this.turns.kept >= this.maxJobs;
  }

  /** Resolves when a claim has taken the job, or none will. A pulled job has no `request`. */
  async arrive(
    job: WorkerJob,
    registration: Registration,
    request?: PushRequest,
    handedAt = realNow(),
  ): Promise<Delivery> {
    const { workerId } = registration;
    const { attempt } = job;
    const times = { arrivedAt: realNow(), handedAt, confirmedAt: -Infinity };
    const arrived = { claim: claimOf(job), registration, workerId, attempt, ...times };
    const delivery = this.decide(arrived, request) ?? (await this.wait(arrived, request));
    if (delivery === 'unclaimed' && !request) this.onUnclaimed(arrived);
    return delivery;
  }

  /** Takes arrived jobs, up to the free slots; waits until there is one, or the signal aborts. */
  async claim(slots: FreeSlots, signal: AbortSignal): Promise<readonly Claim[]> {
    if (signal.aborted) return [];
    const waiting: WaitingClaim = (this.waiting = { slots, end: () => undefined });
    const end = new Promise<void>((resolve) => (waiting.end = resolve));
    this.takeArrivals();
    if (this.ready().length === 0) {
      const ignoreSlots = slots.onFree(() => this.takeArrivals());
      signal.addEventListener('abort', waiting.end, { once: true });
      await end;
      signal.removeEventListener('abort', waiting.end);
      ignoreSlots();
    }
    delete this.waiting;
    const ready = this.ready();
    for (const job of ready) this.taken.delete(job);
    return ready.map(({ claim }) => claim);
  }

  /** How many jobs of a function have a slot that its worker still counts as free. */
  takenOf(fn: string): number {
    return [...this.taken.keys()].filter(({ claim }) => claim.fn === fn).length;
  }

  /** The job of a claim that is not reported yet. */
  jobOf(claim: Claim): HeldJob | undefined {
    return this.claimed.get(claim);
  }

  /** Frees the slot of a claim, once. Returns its job, even if it is no longer held. */
  release(claim: Claim): HeldJob | undefined {
    const job = this.claimed.get(claim);
    if (!job || this.held.get(claim.id) !== job) return job;
    const wasFull = this.isFull;
    this.held.delete(claim.id);
    this.taken.delete(job);
    job.registration.held.delete(job);
    if (wasFull) this.makeUse();
    return job;
  }

  /** The master gives the jobs of this registration to others. */
  revoke(registration: Registration): void {
    for (const { job, end } of this.arrivals) if (job.registration === registration) end('unclaimed');
    for (const job of this.held.values()) if (job.registration === registration) this.lose(job);
  }

  /** There is room again: gives it to arrived jobs, and asks for more. */
  makeUse(): void {
    this.takeArrivals();
    this.onRoom();
  }

  private takeArrivals(): void {
    for (const { job, request, end } of this.arrivals) {
      const delivery = this.decide(job, request);
      if (delivery) end(delivery);
    }
  }

  private ready(): readonly HeldJob[] {
    return [...this.taken].flatMap(([job, state]) => (state === 'ready' ? job : []));
  }

  /** What becomes of a job; undefined if it has to wait for a slot. */
  private decide(job: HeldJob, request: PushRequest | undefined): Delivery | undefined {
    const { claim, registration } = job;
    if (this.answered.has(handOutOf(job), performance.now())) return 'taken';
    const former = this.held.get(claim.id);
    // Its master has given up an older attempt.
    if (former && isOlder(job, former)) return 'unclaimed';
    if (former && job.attempt !== undefined && job.attempt === former.attempt) {
      if (request && typeof this.taken.get(former) === 'object') this.beginAfter(request, former);
      return 'taken';
    }
    if (request && registration.held.size >= registration.maxJobs) return 'full';
    if (request && this.isCrowded) {
      this.joinTurns(job);
      return 'full';
    }
    const kept = request ? this.turns.keptFor(claim.fn) : 0;
    const free = (this.waiting?.slots.of(claim.fn) ?? 0) - this.takenOf(claim.fn) - kept;
    if (free <= 0 || this.isFull) return undefined;
    // A job that arrives again was taken from this worker before.
    if (former) this.lose(former);
    this.take(job, request);
    return 'taken';
  }

  /** A master that only implements the contract knows no pulls: asking for its answer would never end. */
  private joinTurns({ registration, attempt }: HeldJob): void {
    if (attempt !== undefined) this.turns.join(registration);
  }

  private take(job: HeldJob, request: PushRequest | undefined): void {
    this.held.set(job.claim.id, job);
    this.claimed.set(job.claim, job);
    job.registration.held.add(job);
    if (request) return this.beginAfter(request, job);
    this.taken.set(job, 'ready');
    this.waiting?.end();
  }

  /**
   * A job whose push is not answered does not begin: its handler might keep the answer, without which the master gives the
   * job to another worker. If the push comes again meanwhile, the last one counts.
   */
  private beginAfter(request: PushRequest, job: HeldJob): void {
    this.taken.set(job, request);
    request.onAnswered((isThere) => {
      const awaited = this.taken.get(job);
      if (isThere && awaited) this.begin(job);
      else if (awaited === request) this.release(job.claim);
    });
  }

  private begin(job: HeldJob): void {
    this.taken.set(job, 'ready');
    if (job.attempt !== undefined) this.answered.add(handOutOf(job), performance.now());
    if (this.waiting) this.waiting.end();
    else setTimeout(() => this.giveBack(job), PATIENCE_MS);
  }

  /** Gives a job back that still waits for a claim, as that of a worker that stops. */
  private giveBack(job: HeldJob): void {
    if (!this.taken.has(job)) return;
    this.release(job.claim);
    this.onUnclaimed(job);
  }

  private lose({ claim }: HeldJob): void {
    this.release(claim);
    this.onRevoked(claim, 'lost');
  }

  private wait(job: HeldJob, request: PushRequest | undefined): Promise<Delivery> {
    return new Promise((resolve) => {
      const end = (how: Delivery) => {
        clearTimeout(timer);
        this.arrivals.delete(arrival);
        resolve(how);
      };
      const leave = () => end('unclaimed');
      const arrival = { job, request, end };
      const late = () => {
        if (request) this.joinTurns(job);
        leave();
      };
      const timer = setTimeout(late, request ? PATIENCE_MS : PULLED_PATIENCE_MS);
      request?.onGone(leave);
      this.arrivals.add(arrival);
    });
  }
}

/** Names a job and its attempt. */
function handOutOf({ claim, attempt }: HeldJob): string {
  return `${claim.id} ${attempt}`;
}

/** A master of another implementation has no attempts: what comes later is newer. */
function isOlder({ attempt = Infinity }: HeldJob, { attempt: than = -Infinity }: HeldJob): boolean {
  return attempt < than;
}

let handOvers = 0;

/**
 * Its pusher decides how often a job is tried (`max_retry`), and the master counts: here a failure is final only if
 * trying again makes no sense.
 */
function claimOf({ id, name, argument, timeout, attempt, retryCount, isLast }: WorkerJob): Claim {
  return {
    fn: name,
    id,
    token: attempt ?? ++handOvers,
    input: argument.bytes,
    attempts: retryCount + 1,
    stalls: 0,
    isLast,
    options: { timeout: Math.min(timeout * 1000, MAX_TIMER_MS), retry: { attempts: Infinity } },
  };
}
