import type { JobErrorInfo } from './errors.js';
import type { Payload } from './codec.js';

/** A job taken from a source: the right to run it, until its lease ends. */
export interface Claim {
  readonly fn: string;
  readonly id: string;
  /** Fences this claim off from later ones of the same job. */
  readonly token: number;
  /** The input as it was sent. */
  readonly input: Uint8Array;
  /** How often the job was claimed, this time included. */
  readonly attempts: number;
}

/** How a claim ended. */
export type Outcome =
  | { readonly claim: Claim; readonly status: 'success'; readonly output: Payload }
  | { readonly claim: Claim; readonly status: 'error'; readonly error: JobErrorInfo }
  /** Untouched: it goes back to the front of its queue, and the attempt doesn't count. */
  | { readonly claim: Claim; readonly status: 'released' };

/** Free slots of each function that may take jobs. */
export type Slots = ReadonlyMap<string, number>;

/**
 * Where jobs come from and where their outcomes go: one implementation a wire protocol.
 * `worker/` runs handlers for any of them. Functions are named as definitions name them.
 */
export interface JobSource {
  /** Milliseconds after which a running job's claim wants to be renewed. */
  readonly renewInterval: number;

  /** Announces the worker for these functions. Idempotent. */
  open(functions: readonly string[]): Promise<void>;

  /**
   * Takes up to `slots` jobs a function. Waits until there is at least one, or `signal` aborts: then
   * what was already taken is returned, or nothing. Called again only after it has returned.
   */
  claim(slots: Slots, signal: AbortSignal): Promise<readonly Claim[]>;

  /** Extends the leases of running jobs; returns the claims that another worker holds by now. */
  renew(claims: readonly Claim[]): Promise<readonly Claim[]>;

  /** Records how far a job is. False when the claim is lost. */
  progress(claim: Claim, dividend: number, divisor: number): Promise<boolean>;

  /**
   * Hands outcomes over; returns the claims whose outcome was refused because the lease had gone.
   * Waits through an outage: it rejects only after `close`.
   */
  settle(outcomes: readonly Outcome[]): Promise<readonly Claim[]>;

  /** Withdraws the worker; what was claimed and not handed out goes back. Idempotent. */
  close(): Promise<void>;
}
