import type { Cluster, Redis } from 'ioredis';
import type { RedisConnection } from '../../../redis/redis-connection.js';
import type { KeysOf } from '../wire/protocol.js';
import type { FunctionStates } from './function-states.js';
import type { CallFailures } from './round-trips.js';
import type { Housekeeper, LeaderDuty } from './source-features.js';

/** What a notifier reports to the source, and asks it. */
export interface NotifierListener {
  /** `fn` may have work. */
  onWork(fn: string): void;
  /** Whether jobs of `fn` may be claimed. */
  hasSlots(fn: string): boolean;
  /** Claims jobs of `fn` right behind a blocking call of up to `blocked` ms; false if there was no slot for one. */
  claimBehind(fn: string, redis: Redis | Cluster, blocked: number): Promise<boolean>;
  /** The server refuses the blocking call. */
  onRefused(error: unknown): void;
  /** This worker has to begin or stop listening for jobs of plain clients. */
  onListen(fn: string, listens: boolean): void;
  /** Gives back what such a call claimed if its reply never came. */
  recall(fn: string): Promise<void>;
}

/** What every notifier needs. */
export interface NotifierParts {
  readonly commands: RedisConnection;
  /** This worker's name among all. */
  readonly worker: string;
  readonly keysOf: KeysOf;
  readonly housekeeper: () => Housekeeper;
  readonly duties: readonly LeaderDuty[];
  readonly states: FunctionStates;
  readonly failures: CallFailures;
  readonly listener: NotifierListener;
  /** Milliseconds between two questions for jobs, in place of calls that block; 0 for these. */
  readonly pollInterval: number;
}

/** Reports when an idle function may have work. */
export interface Notifier {
  /** Whether a connection is down. */
  readonly isDown: boolean;
  /** The worker runs jobs of `fn`: it may have to lead it, also if it never waits for work, or has no free slot. */
  serve(fn: string): void;
  /** Begins to wait for work of `fn`. */
  await(fn: string): void;
  /** Waits for no more work of `fn`, and leaves it to others. */
  leave(fn: string): Promise<void>;
  /** Ends a blocking call, because the functions to wait for have changed. */
  interrupt(): void;
  /** Sets the marker of `fn` if it has work; any worker may take it. */
  look(fn: string): Promise<void>;
  close(): Promise<void>;
  /** Closes the connection at once. */
  disconnect(): void;
}
