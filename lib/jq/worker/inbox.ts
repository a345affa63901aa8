import { MAX_TIMER_MS } from '../../job/duration.js';
import type { Claim, FreeSlots, OnRevoked } from '../../job/job-source.js';
import { realNow } from '../../job/real-time.js';
import type { WorkerJob } from '../wire/worker-job.js';
import type { Registration } from './registration.js';
import { ReplayCache } from './replay-cache.js';

/** How long an unclaimed job waits: a running worker claims again almost at once. */
const PATIENCE_MS = 100;
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
  end(how: Delivery): void;
}

/** A waiting claim, and the jobs it has got so far. */
interface WaitingClaim {
  readonly slots: FreeSlots;
  readonly claims: Claim[];
  end(): void;
}

/** Calls back when the sender of the job no longer waits. */
export type OnGone = (callback: () => void) => void;

/** Matches jobs that arrive with claims that wait for them. */
export class Inbox {
  onRevoked: OnRevoked = () => undefined;
  /** Called when it is no longer full. */
  onRoom: () => void = () => undefined;
  private readonly held = new Map<string, HeldJob>();
  private readonly claimed = new WeakMap<Claim, HeldJob>();
  private readonly arrivals = new Set<Arrival>();
  private readonly pushed = new ReplayCache(REPLAY_MS);
  private readonly deciding = new Map<string, Promise<Delivery>>();
  private waiting?: WaitingClaim;

  constructor(private readonly maxJobs: number) {}

  /** Whether it holds as many jobs as all functions together may run. */
  get isFull(): boolean {
    return this.held.size >= this.maxJobs;
  }

  /**
   * Resolves when a claim has taken the job, or none will. A pulled job is ours already and waits as long as it takes. For
   * a push, `onGone` tells when its master no longer waits.
   */
  async arrive(job: WorkerJob, registration: Registration, onGone?: OnGone): Promise<Delivery> {
    if (!onGone || job.attempt === undefined) return this.decide(job, registration, onGone);
    const push = `${job.id} ${job.attempt}`;
    if (this.pushed.has(push, performance.now())) return 'taken';
    const deciding = this.deciding.get(push) ?? this.decide(job, registration, onGone);
    this.deciding.set(push, deciding);
    const delivery = await deciding;
    this.deciding.delete(push);
    if (delivery === 'taken') this.pushed.add(push, performance.now());
    return delivery;
  }

  private async decide(job: WorkerJob, registration: Registration, onGone?: OnGone): Promise<Delivery> {
    if (onGone && (this.isFull || registration.held.size >= registration.maxJobs)) return 'full';
    const { workerId } = registration;
    const [arrivedAt, confirmedAt] = [realNow(), -Infinity];
    const { attempt } = job;
    const arrival = { claim: claimOf(job), registration, workerId, attempt, arrivedAt, confirmedAt };
    return this.takeNow(arrival) ? 'taken' : this.wait(arrival, onGone);
  }

  /** Takes arrived jobs, up to the free slots; waits until there is one, or the signal aborts. */
  async claim(slots: FreeSlots, signal: AbortSignal): Promise<readonly Claim[]> {
    if (signal.aborted) return [];
    const claims: Claim[] = [];
    const waiting: WaitingClaim = { slots, claims, end: () => undefined };
    this.takeArrivals(waiting);
    if (claims.length > 0) return claims;
    const end = new Promise<void>((resolve) => (waiting.end = resolve));
    const stop = () => waiting.end();
    signal.addEventListener('abort', stop, { once: true });
    const ignoreSlots = slots.onFree(() => this.takeArrivals(waiting));
    this.waiting = waiting;
    await end;
    ignoreSlots();
    delete this.waiting;
    signal.removeEventListener('abort', stop);
    return claims;
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
    job.registration.held.delete(job);
    if (wasFull) this.makeUse();
    return job;
  }

  /** The master has given these jobs to others. */
  revoke(registration: Registration): void {
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
    for (const arrival of this.arrivals) {
      if (!this.take(arrival, waiting)) continue;
      arrival.end('taken');
      waiting.end();
    }
  }

  /** Jobs that arrive before the waiting claim returns go with it. */
  private takeNow(job: HeldJob): boolean {
    if (!this.waiting || !this.take(job, this.waiting)) return false;
    this.waiting.end();
    return true;
  }

  private take(job: HeldJob, { slots, claims }: WaitingClaim): boolean {
    const { claim, registration } = job;
    const taken = claims.filter(({ fn }) => fn === claim.fn).length;
    if (slots.of(claim.fn) <= taken || this.isFull) return false;
    this.replace(claim);
    this.held.set(claim.id, job);
    this.claimed.set(claim, job);
    registration.held.add(job);
    claims.push(claim);
    return true;
  }

  private wait(job: HeldJob, onGone?: OnGone): Promise<Delivery> {
    return new Promise((resolve) => {
      const end = (how: Delivery) => {
        clearTimeout(timer);
        this.arrivals.delete(arrival);
        resolve(how);
      };
      const leave = () => end('unclaimed');
      const arrival = { ...job, end };
      const timer = onGone && setTimeout(leave, PATIENCE_MS);
      onGone?.(leave);
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
