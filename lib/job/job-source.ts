import type { Clock } from './clock.js';
import type { JobErrorInfo } from './errors.js';
import type { QueueOverview } from './job-views.js';
import type { JobHeaders } from './headers.js';
import type { Codec, Payload } from './codec.js';
import type { Pinged } from './health.js';
import type { Keep } from './keep.js';
import type { LimitRules } from './limit.js';
import type { RecurringTick } from './recurring.js';
import type { JobRetryOptions } from './retry.js';
import type { SourceCapabilities } from './source-capabilities.js';
import type { StepRecords } from './steps.js';
import type { StreamRecords } from './streams.js';
import type { ParentRecords } from './flows.js';
import type { SourceTables } from './source-tables.js';

/** A job that a worker took from a source: the right to run it until the lease ends. */
export interface Claim {
  readonly fn: string;
  readonly id: string;
  /** Tells this claim from later claims of the same job. */
  readonly token: number;
  /** The input as it was sent. */
  readonly input: Uint8Array;
  /** How often the job was claimed, this time included. */
  readonly attempts: number;
  /** How many of these attempts ended because their worker was lost. */
  readonly stalls: number;
  /**
   * Whether it has lost its worker as often as it may. It runs alone in its process, which therefore tells whether the job is
   * to blame if it loses that one, too.
   */
  readonly suspect?: true;
  /** How often its handler postponed it with a SnoozeError. @default 0 */
  readonly snoozes?: number;
  /** Whether its system ends it if this attempt fails, whatever the outcome asks for. @default false */
  readonly isLast?: boolean;
  /** How long it could have run before, in ms; absent if it was claimed before or the source doesn't know. */
  readonly waited?: number | undefined;
  /** Options that were given when the job was enqueued. */
  readonly options: JobOptions;
}

/** Options of a single job. They override those of the handler and the definition. */
export interface JobOptions {
  readonly retry?: JobRetryOptions;
  /** How long a run may take, in milliseconds. */
  readonly timeout?: number;
  /** The client that waits for the output: sources that support it send the output there directly. */
  readonly reply?: string;
  readonly headers?: JobHeaders;
  /** What it is found by. */
  readonly tags?: readonly string[];
  /** When the job expires unless it was begun, in ms since 1970. */
  readonly expires?: number;
  /** The tick of a schedule that it belongs to. */
  readonly recurring?: RecurringTick;
}

/** How a claim ended. */
export type Outcome = (
  | { readonly claim: Claim; readonly status: 'success'; readonly output: Payload }
  | { readonly claim: Claim; readonly status: 'error'; readonly error: JobErrorInfo }
  /** The attempt failed; the next one begins after `delay` milliseconds. */
  | { readonly claim: Claim; readonly status: 'retry'; readonly error: JobErrorInfo; readonly delay: number }
  /**
   * The job runs again after `delay` milliseconds, and the attempt doesn't count. Only with the capability `snooze`. With
   * `waitsFor` it runs as soon as it has one of these signals.
   */
  | {
      readonly claim: Claim;
      readonly status: 'snoozed';
      readonly delay: number;
      readonly waitsFor?: readonly string[] | undefined;
    }
  /** Its key is not to start jobs for `delay` milliseconds. The job goes back; the attempt doesn't count. Only with the capability `limits`. */
  | { readonly claim: Claim; readonly status: 'held'; readonly delay: number }
  /** The job was not run: it goes back to the front of its queue, and the attempt doesn't count. */
  | { readonly claim: Claim; readonly status: 'released' }
) & {
  /** How long the handler ran, in ms. */
  readonly took?: number | undefined;
};

/** Called when a claim no longer holds: it is `lost` to another worker, its job was `cancelled`, or it was `returned` before it began. */
export type OnRevoked = (claim: Claim, why: 'lost' | 'cancelled' | 'returned') => void;

/** A function's limit, as a source applies it. */
export interface SourceLimit {
  readonly rules: LimitRules;
  /** The key of a job with this input. @throws LimitKeyError, UnreadablePayloadError */
  keyOf(input: Uint8Array): string;
}

/** The free slots of a worker. They change while a claim waits: ask again before each request. */
export interface FreeSlots {
  /** Free slots of this function now. */
  of(fn: string): number;
  /** The functions that have a free slot now. */
  functions(): readonly string[];
  /** Calls `listener` whenever a function that had no free slot gets one. Returns a function that unsubscribes. */
  onFree(listener: (fn: string) => void): () => void;
}

/** Something that a source is told of each function. */
export interface FunctionSetting<Value> {
  set(fn: string, value: Value): void;
}

/** The leases of a source's claims, as far as it has them. */
export interface SourceLeases {
  /**
   * Stops renewing the lease of a running claim after `ms` milliseconds. The job then goes to another worker even if
   * this process is too busy to end it. Infinity removes the deadline.
   */
  setDeadline?(claim: Claim, ms: number): void;

  /** The same of a claim that waits to begin: it goes back after `ms` milliseconds, as if it had not been made. `setDeadline` ends this. */
  giveBackAfter?(claim: Claim, ms: number): void;

  /**
   * A suspect waits to run alone, and the loss of its worker is not to count; or it begins, and from then on it counts. Only
   * sources with suspects. False when the claim is lost.
   */
  isolate?(claim: Claim, begins: boolean): Promise<boolean>;

  /** Whether another worker may have the job of a claim by now, as when this process was stopped: `renew` knows. */
  mayBeLost?(claim: Claim): boolean;
}

/** Where a source keeps what jobs record while they run, each as far as it can. */
export interface JobRecords {
  readonly steps?: StepRecords | undefined;
  readonly streams?: StreamRecords | undefined;
  readonly parents?: ParentRecords | undefined;
}

/** What operators see of a source with a server: by their health, metrics and the dashboard. */
export interface SourceMonitor extends Pinged {
  /** What there is in its queues; only sources without a client of this package's have it. */
  overview?(): Promise<readonly QueueOverview[]>;

  /** Its own tables, for people; only sources without a client of this package's have them. */
  readonly tables?: SourceTables;
}

/**
 * Where jobs come from and where their outcomes go. Each wire protocol has one implementation, and `worker/` runs
 * handlers for all of them. Functions have the names that definitions give them.
 */
export interface JobSource {
  /** What this source can do. */
  readonly capabilities: SourceCapabilities;

  /** Whose jobs these are, in events of `instrumentation`, metrics and spans: `gearmonkey`, `qless` and so on. */
  readonly system?: string;

  /** The client that enqueues its jobs, for error messages: `QlessClient (nestjs-gearmonkey/qless)`. */
  readonly client?: string;

  /** Where its jobs come from, as a log names it: never with credentials. */
  readonly address?: string;

  /** Milliseconds after which the worker has to renew claims; absent if the source renews them itself. */
  readonly renewInterval?: number;

  /** What the timeouts of its jobs go by. @default the system's clock @internal */
  readonly clock?: Clock;

  /** How payloads are encoded if neither definition nor module sets a codec. @default json */
  readonly codec?: Codec;

  /**
   * Whether a worker may claim a few short jobs before it has slots for them, which saves waiting for a round trip.
   * They are released if no slot becomes free soon.
   */
  readonly claimsAhead?: boolean;

  /**
   * Registers the worker for these functions. Idempotent. `onRevoked` is called for claims that this worker no longer
   * holds, with the objects that `claim` returned.
   */
  open(functions: readonly string[], onRevoked?: OnRevoked): Promise<void>;

  /**
   * Claims jobs: of each function at most as many as it has free slots. Waits until there is at least one job, also of
   * functions that get a slot meanwhile. When `signal` aborts, it returns the jobs it has claimed so far, if any. It is
   * not called again before it has returned.
   */
  claim(slots: FreeSlots, signal: AbortSignal): Promise<readonly Claim[]>;

  /** How long the ended jobs of a function can be read; only sources whose server keeps them have it. Set before `open`. */
  readonly keep?: FunctionSetting<Keep>;

  /**
   * The limit of a function, set before it is opened. `keyOf` makes the key of a job that was enqueued without one. Only with
   * the capability `limits`.
   */
  readonly limits?: FunctionSetting<SourceLimit>;

  /** What a worker does with leases, beside renewing them. */
  readonly leases?: SourceLeases;

  /** Extends the leases of running jobs; returns the claims that are lost to another worker. */
  renew(claims: readonly Claim[]): Promise<readonly Claim[]>;

  /** Records how far a job is. False when the claim is lost. */
  progress(claim: Claim, dividend: number, divisor: number): Promise<boolean>;

  /** What its jobs record while they run. Only with the capability `steps`. */
  readonly records?: JobRecords;

  /**
   * Writes outcomes; returns the claims whose outcome was refused because their lease was lost. During an outage it
   * waits: it rejects only after `close`.
   */
  settle(outcomes: readonly Outcome[]): Promise<readonly Claim[]>;

  /**
   * Signs the worker off from functions whose jobs it no longer runs, or whose `open` has failed. Without it they stay
   * registered until `close`. `open` may register them again.
   */
  withdraw?(functions: readonly string[]): Promise<void>;

  /** Called when the worker starts to drain: it claims no more jobs, but running ones may continue for a while. */
  takeNoMore?(): void;

  /** What operators see of it and its server. */
  readonly monitor?: SourceMonitor;

  /** Signs the worker off; claims that were not returned yet go back to their queue. Idempotent. */
  close(): Promise<void>;
}
