import { MAX_TIMER_MS } from '../../job/duration.js';
import type { Claim, FreeSlots, OnRevoked } from '../../job/job-source.js';
import { realNow } from '../../job/real-time.js';
import type { WorkerJob } from '../wire/worker-job.js';
import type { Registration } from './registration.js';
import { ReplayCache } from './replay-cache.js';

/** How long an unclaimed job waits: a running worker claims again almost at once. */
const PATIENCE_MS = 100;
/** The same of a pulled one, which is this worker's already: it has to be given back. */
const PULLED_PATIENCE_MS = 1000;
/**
 * How long a push is remembered. After a broken connection a master sends it again, within its `pushTimeout`; by then
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
  /** When it arrived, by `realNow`. */
  readonly arrivedAt: number;
  /** When the master was last asked whether this worker still has it, and said so. */
  confirmedAt: number;
}

/** The result of a job's arrival. This worker has it only if it is `taken`. */
export type Delivery = 'taken' | 'full' | 'unclaimed';

interface Arrival extends HeldJob {
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
  private readonly held = new Map<string, HeldJob>();
  private readonly claimed = new WeakMap<Claim, HeldJob>();
  /** Those of them that no claim has returned yet, in order; a push that is not answered does not begin: its handler might keep the answer. */
  private readonly taken = new Map<HeldJob, 'unanswered' | 'ready'>();
  private readonly arrivals = new Set<Arrival>();
  private readonly pushed = new ReplayCache(REPLAY_MS);
  private readonly deciding = new Map<string, Promise<Delivery>>();
  private waiting?: WaitingClaim;

  constructor(private readonly maxJobs: number) {}

  /** Whether it holds as many jobs as all functions together may run. */
  get isFull(): boolean {
    return this.held.size >= this.maxJobs;
  }

  /** Resolves when a claim has taken the job, or none will. A pulled job has no `request`. */
  async arrive(job: WorkerJob, registration: Registration, request?: PushRequest): Promise<Delivery> {
    if (!request || job.attempt === undefined) return this.decide(job, registration, request);
    const push = `${job.id} ${job.attempt}`;
    if (this.pushed.has(push, performance.now())) return 'taken';
    const deciding = this.deciding.get(push) ?? this.decide(job, registration, request);
    this.deciding.set(push, deciding);
    const delivery = await deciding;
    this.deciding.delete(push);
    if (delivery === 'taken') this.pushed.add(push, performance.now());
    return delivery;
  }

  private async decide(job: WorkerJob, registration: Registration, request?: PushRequest): Promise<Delivery> {
    if (request && (this.isFull || registration.held.size >= registration.maxJobs)) return 'full';
    const { workerId } = registration;
    const [arrivedAt, confirmedAt] = [realNow(), -Infinity];
    const { attempt } = job;
    const arrival = { claim: claimOf(job), registration, workerId, attempt, arrivedAt, confirmedAt };
    if (this.waiting && this.take(arrival, this.waiting, request)) return 'taken';
    return this.wait(arrival, request);
  }

  /** Takes arrived jobs, up to the free slots; waits until there is one, or the signal aborts. */
  async claim(slots: FreeSlots, signal: AbortSignal): Promise<readonly Claim[]> {
    if (signal.aborted) return [];
    const waiting: WaitingClaim = { slots, end: () => undefined };
    this.takeArrivals(waiting);
    const ready = this.takeReady();
    if (ready.length > 0) return ready;
    const end = new Promise<void>((resolve) => (waiting.end = resolve));
    const stop = () => waiting.end();
    signal.addEventListener('abort', stop, { once: true });
    const ignoreSlots = slots.onFree(() => this.takeArrivals(waiting));
    this.waiting = waiting;
    await end;
    ignoreSlots();
    delete this.waiting;
    signal.removeEventListener('abort', stop);
    return this.takeReady();
  }

  /** How many jobs of a function have a slot that its worker still counts as free. */
  takenOf(fn: string): number {
    return [...this.taken.keys()].filter(({ claim }) => claim.fn === fn).length;
  }

  private takeReady(): Claim[] {
    const ready = [...this.taken].flatMap(([job, state]) => (state === 'ready' ? job : []));
    for (const job of ready) this.taken.delete(job);
    return ready.map(({ claim }) => claim);
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

  /** No claim takes jobs of a worker any more that is about to leave. */
  leave(registration: Registration): void {
    for (const arrival of this.arrivals) if (arrival.registration === registration) arrival.end('unclaimed');
  }

  /** The master has given these jobs to others. */
  revoke(registration: Registration): void {
    this.leave(registration);
    for (const job of this.held.values()) {
      if (job.registration !== registration) continue;
      this.release(job.claim);
      this.onRevoked(job.claim, 'lost');
    }
  }

  /** There is room again: gives it to arrived jobs, and asks for more. */
  private makeUse(): void {
    if (this.waiting) this.takeArrivals(this.waiting);
    this.onRoom();
  }

  private takeArrivals(waiting: WaitingClaim): void {
    for (const arrival of this.arrivals)
      if (this.take(arrival, waiting, arrival.request)) arrival.end('taken');
  }

  private take(job: HeldJob, { slots }: WaitingClaim, request: PushRequest | undefined): boolean {
    const { claim, registration } = job;
    if (slots.of(claim.fn) <= this.takenOf(claim.fn) || this.isFull) return false;
    this.replace(claim);
    this.held.set(claim.id, job);
    this.claimed.set(claim, job);
    registration.held.add(job);
    this.taken.set(job, request ? 'unanswered' : 'ready');
    if (request) request.onAnswered((isThere) => this.answered(job, isThere));
    else this.waiting?.end();
    return true;
  }

  /** Without the answer its master gives the job to another worker. */
  private answered(job: HeldJob, isThere: boolean): void {
    if (!this.taken.has(job)) return;
    if (!isThere) return void this.release(job.claim);
    this.taken.set(job, 'ready');
    this.waiting?.end();
  }

  private wait(job: HeldJob, request?: PushRequest): Promise<Delivery> {
    return new Promise((resolve) => {
      const end = (how: Delivery) => {
        clearTimeout(timer);
        this.arrivals.delete(arrival);
        resolve(how);
      };
      const leave = () => end('unclaimed');
      const arrival = { ...job, request, end };
      const timer = setTimeout(leave, request ? PATIENCE_MS : PULLED_PATIENCE_MS);
      request?.onGone(leave);
      this.arrivals.add(arrival);
    });
  }

  /** A job that arrives again was taken from this worker before: its running attempt is lost. */
  private replace({ id }: Claim): void {
    const former = this.held.get(id);
    if (!former) return;
    this.release(former.claim);
    this.onRevoked(former.claim, 'lost');
  }
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
