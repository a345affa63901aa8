import type { Clock } from './clock.js';
import type { JobErrorInfo } from './errors.js';
import type { Codec, Payload } from './codec.js';
import type { Health } from './health.js';
import type { JobRetryOptions } from './retry.js';
import type { SourceCapabilities } from './source-capabilities.js';

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
  /** How many of these attempts ended with their worker's death. */
  readonly stalls: number;
  /** What the job's sender said about running it. */
  readonly options: JobOptions;
}

/** What may be said of a single job; it goes before the handler's and the definition's. */
export interface JobOptions {
  readonly retry?: JobRetryOptions;
  /** Milliseconds a run may take. */
  readonly timeout?: number;
  /** Who waits for the output: sources that can, send it there as well. */
  readonly reply?: string;
}

/** How a claim ended. */
export type Outcome =
  | { readonly claim: Claim; readonly status: 'success'; readonly output: Payload }
  | { readonly claim: Claim; readonly status: 'error'; readonly error: JobErrorInfo }
  /** Failed, and to be tried again after `delay` milliseconds. */
  | { readonly claim: Claim; readonly status: 'retry'; readonly error: JobErrorInfo; readonly delay: number }
  /** Untouched: it goes back to the front of its queue, and the attempt doesn't count. */
  | { readonly claim: Claim; readonly status: 'released' };

/** A claim is gone: `lost` to another worker, or its job was `cancelled`. */
export type OnRevoked = (claim: Claim, why: 'lost' | 'cancelled') => void;

/** How many more jobs a worker has room for. The answers change while a claim waits: ask again before each request. */
export interface FreeSlots {
  /** Free slots of this function now. */
  of(fn: string): number;
  /** The functions that have a free slot now. */
  functions(): readonly string[];
  /** Calls `listener` whenever a function that had no free slot gets one. Returns how to end that. */
  onFree(listener: (fn: string) => void): () => void;
}

/**
 * Where jobs come from and where their outcomes go: one implementation a wire protocol.
 * `worker/` runs handlers for any of them. Functions are named as definitions name them.
 */
export interface JobSource {
  /** What this source can do. */
  readonly capabilities: SourceCapabilities;

  /** What enqueues its jobs, as an error names it to who looks for a client: `QlessClient (nestjs-gearmonkey/qless)`. */
  readonly client?: string;

  /** Where its jobs come from, as a log names it: never with credentials. */
  readonly address?: string;

  /** Milliseconds after which claims want to be renewed; absent where the source sees to that itself. */
  readonly renewInterval?: number;

  /** What the timeouts of its jobs go by. @default the system's clock @internal */
  readonly clock?: Clock;

  /** How payloads are written where neither definition nor module says. @default json */
  readonly codec?: Codec;

  /**
   * Whether a few short jobs may be claimed before there is a slot for them, so that a claim's round trip
   * costs less. They are released if no slot comes free soon.
   */
  readonly claimsAhead?: boolean;

  /**
   * Announces the worker for these functions. Idempotent. `onRevoked` is told of claims that the source
   * learns are no longer this worker's; the objects are those that `claim` returned.
   */
  open(functions: readonly string[], onRevoked?: OnRevoked): Promise<void>;

  /**
   * Takes up to as many jobs of a function as it has free slots. Waits until there is at least one, also of functions
   * that get a slot while it waits, or until `signal` aborts: then it returns what was taken already, or nothing.
   * Called again only after it has returned.
   */
  claim(slots: FreeSlots, signal: AbortSignal): Promise<readonly Claim[]>;

  /**
   * Renews the lease of a running claim for `ms` more milliseconds and no longer, so that the job goes to another worker
   * even if this process is too busy to end it. Infinity lifts the deadline.
   */
  setDeadline?(claim: Claim, ms: number): void;

  /** Extends the leases of running jobs; returns the claims that another worker has now. */
  renew(claims: readonly Claim[]): Promise<readonly Claim[]>;

  /** Records how far a job is. False when the claim is lost. */
  progress(claim: Claim, dividend: number, divisor: number): Promise<boolean>;

  /**
   * Writes outcomes; returns the claims whose outcome was refused because their lease was lost.
   * Waits through an outage: it rejects only after `close`.
   */
  settle(outcomes: readonly Outcome[]): Promise<readonly Claim[]>;

  /** No claims will be asked for any more, though what runs may go on for a while: what would bring more is refused. */
  takeNoMore?(): void;

  /** What the source has seen of its server. */
  health?(): Health;

  /** Connects if nothing has yet, and asks the server. @throws ConnectionError after `timeout` milliseconds */
  reach?(timeout: number): Promise<void>;

  /** Withdraws the worker; claims that were not returned yet go back. Idempotent. */
  close(): Promise<void>;
}
