import type { Duration } from './duration.js';

/** The numbers of a limit. At least one of them is given. */
export interface LimitNumbers {
  /** How many jobs of a key may run at the same time, in all processes together. */
  concurrency?: number;
  /** In no span of `per` more than `max` jobs of a key start. */
  rate?: { max: number; per: Duration };
}

/** Which jobs of a function may run when. */
export interface LimitOptions<Input = unknown> extends LimitNumbers {
  /** What jobs are counted by, such as their tenant: text of 1 to 255 bytes. @default all jobs of the function together */
  // A method: where only a function's name is known, its parameter may have any type.
  key?(input: Input): string;
  /** A limit that several functions share, in place of numbers of its own. */
  shared?: SharedLimit;
  /**
   * `fair`: keys take turns within a priority. `strict`: one job of a key at a time, first in, first out, and a job that
   * waits for its retry holds its key.
   *
   * @default 'fair'
   */
  order?: 'fair' | 'strict';
  /**
   * What happens to a new job of a key that is full: it waits, the enqueue rejects with a LimitFullError, or it replaces
   * those of its key that wait, which are cancelled.
   *
   * @default 'wait'
   */
  onFull?: 'wait' | 'refuse' | 'replace';
  /** Which jobs of its key a new one replaces with `onFull: 'replace'`: `running` cancels the running ones, too. @default 'waiting' */
  replace?: 'waiting' | 'running';
}

/** An option of definitions and handlers. */
export interface WithLimit<Input = unknown> {
  /** Which of its jobs may run when, in all processes together. @default no limit */
  limit?: LimitOptions<Input> | SharedLimit;
}

/** A limit with a name of its own, made by `defineLimit`, that several functions share. */
export interface SharedLimit {
  readonly name: string;
  readonly concurrency?: number;
  /** `per` in milliseconds. */
  readonly rate?: { readonly max: number; readonly per: number };
}

/** What a server is told of a function's limit. */
export interface LimitRules {
  readonly concurrency?: number;
  /** `per` in milliseconds. */
  readonly rate?: { readonly max: number; readonly per: number };
  readonly order: 'fair' | 'strict';
  /** The name of the shared limit whose numbers these are. */
  readonly shared?: string;
}

/** A function's limit, checked. */
export interface Limit {
  readonly rules: LimitRules;
  /** Whether a function makes the keys of its jobs. */
  readonly isKeyed: boolean;
  readonly onFull: 'wait' | 'refuse' | 'replace';
  readonly replace: 'waiting' | 'running';
  /** The key of a job, '' without a function of the options. @throws LimitKeyError */
  keyOf(input: unknown): string;
}

/** A key of a function's limit, as `limits` shows it. */
export interface LimitState {
  /** '' if the limit counts all jobs of the function together. */
  readonly key: string;
  /** How many of its jobs wait, scheduled and retrying ones not included. */
  readonly waiting: number;
  readonly running: number;
  /** Whether no further job may start now. */
  readonly full: boolean;
  /** Until when none may start because of `rate` or `holdKey`. */
  readonly fullUntil?: Date;
  /** The job that holds a key of `order: 'strict'`: it runs, or waits for its next attempt. */
  readonly heldBy?: string;
}
