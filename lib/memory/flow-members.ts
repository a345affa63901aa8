import { randomUUID } from 'node:crypto';
import type { LaterJob } from '../gearmonkey/features/flows/flow-store.js';

/** A job of a function. */
export interface Job {
  readonly fn: string;
  readonly id: string;
}

/** A flow. */
export interface StoredFlow {
  readonly fn: string;
  readonly name: string;
  readonly jobs: Job[];
  done: number;
  failed: number;
  cancelled: boolean;
  /** How many of its jobs are kept: it is as long as any of them. */
  kept: number;
}

export function newFlow(fn: string): StoredFlow {
  return { fn, name: randomUUID(), jobs: [], done: 0, failed: 0, cancelled: false, kept: 0 };
}

/** What the server knows of a job that waits for others, that others wait for, or that belongs to a flow. */
export interface Member {
  readonly parents: readonly Job[];
  readonly children: Job[];
  /** Set while it waits. */
  later?: LaterJob;
  /** How many parents have not ended. */
  waits: number;
  /** How many children have not ended: they may read its output. */
  held: number;
  flow?: StoredFlow | undefined;
  hasEnded: boolean;
  /** It has ended once, and no longer keeps its parents. One that runs again reads what is left of them. */
  hasLetGo?: boolean;
}

export function newMember(given: Partial<Member> = {}): Member {
  return { parents: [], children: [], waits: 0, held: 0, hasEnded: false, ...given };
}

/** When a job may run whose wait ends now, in ms since 1970, and its options with the time at which it expires. */
export function timesOf({ place, options }: LaterJob, now: number): { due: number; options: string } {
  const due = place.score !== undefined ? Math.round(place.score * 1000) : now + (place.delay ?? 0);
  return { due, options: place.expires === undefined ? options : withExpiry(options, due + place.expires) };
}

/** Options, as JSON, with the time at which the job expires. */
export function withExpiry(options: string, expires: number): string {
  return JSON.stringify({ expires, ...(options !== '' && (JSON.parse(options) as object)) });
}

/** The key of a job. Names of functions contain no white space. */
export function keyOf({ fn, id }: Job): string {
  return `${fn} ${id}`;
}
