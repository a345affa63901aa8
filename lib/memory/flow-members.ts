import type { LaterJob } from '../gearmonkey/client/flow-store.js';

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

/** Options, as JSON, with the time at which the job expires. */
export function withExpiry(options: string, expires: number): string {
  return JSON.stringify({ expires, ...(options !== '' && (JSON.parse(options) as object)) });
}

/** The key of a job. Names of functions contain no white space. */
export function keyOf({ fn, id }: Job): string {
  return `${fn} ${id}`;
}
