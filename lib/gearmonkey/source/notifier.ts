import type { Cluster, Redis } from 'ioredis';

/** What a notifier tells, and asks of the source. */
export interface NotifierListener {
  /** `fn` may have work. */
  onWork(fn: string): void;
  /** Whether jobs of `fn` may be claimed. */
  hasSlots(fn: string): boolean;
  /** Claims jobs of `fn` right behind a blocking call of up to `blocked` ms; false if there was no slot for one. */
  claimBehind(fn: string, redis: Redis | Cluster, blocked: number): Promise<boolean>;
  /** The server refuses to let it wait. */
  onRefused(error: unknown): void;
  /** Whether this worker is to listen for jobs of plain clients. */
  onListen(fn: string, listens: boolean): void;
  /** Gives back what such a call claimed if its reply never came. */
  recall(fn: string): Promise<void>;
}

/** Says when a function that waits may have work. */
export interface Notifier {
  /** Whether a connection broke. */
  readonly isDown: boolean;
  /** `fn` waits from now on. */
  await(fn: string): void;
  /** Ends a blocking call: what it waits for has changed. */
  interrupt(): void;
  /** Sets the marker of `fn` if it has work, this worker's or another's to take. */
  look(fn: string): Promise<void>;
  close(): Promise<void>;
  /** Ends the connection, whatever is under way. */
  disconnect(): void;
}
