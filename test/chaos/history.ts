import { existsSync, readFileSync } from 'node:fs';
import type { Indexes } from './indexes.js';

/** A job by its name: `fn` and `id`, which together are the key of most maps here. */
export interface JobName {
  readonly fn: string;
  readonly id: string;
}

export const keyOf = ({ fn, id }: JobName): string => `${fn}#${id}`;

/** A client was told that the job is enqueued. */
export interface Enqueued extends JobName {
  /** What tells one job from all others: it is in its input. Plain clients' jobs have none. */
  readonly n?: string;
  readonly kind: string;
  /** Milliseconds until the answer, and for how many of them the machine had no processor for the client. */
  readonly took: number;
  readonly starved?: number;
  /** When it was told, in ms since 1970. */
  readonly at?: number;
}

/** A client was not told whether its job is enqueued. */
export interface Unsure {
  readonly fn: string;
  readonly n: string;
  readonly code: string;
  readonly took: number;
  readonly starved?: number;
}

/** A handler was called, or ended. */
export interface Start extends JobName {
  readonly token: number;
  /** How often the job had lost its worker before. */
  readonly stalls?: number;
  readonly at: number;
  readonly process: string;
}
export interface End extends Start {
  readonly ok: boolean;
}

/** A step began, or its handler was told that it is recorded. */
export interface StepNote extends Start {
  readonly name: string;
}

/** What a flow said of its jobs in the end, or the code of an error. `id` is that of its root. */
export interface FlowNote extends JobName {
  /** The `n` of its jobs. */
  readonly names: readonly string[];
  readonly done?: number;
  readonly failed?: number;
  readonly total?: number;
  readonly code?: string;
  /** As of Enqueued. */
  readonly starved?: number;
  readonly at: number;
}

/** What a call to `cancel` answered: whether it was cancelled, or the code of an error. */
export interface Cancel extends JobName {
  /** The `n` of the job that was meant: after a failover another may have its id. */
  readonly of?: string;
  readonly told: boolean | string;
}

/** What a wait for the result answered: the `n` of the output, or the code of an error. */
export interface Result extends JobName {
  /** The `n` of the job that was waited for. */
  readonly of?: string;
  readonly n?: string;
  readonly code?: string;
  /** As of Enqueued. */
  readonly starved?: number;
  readonly at: number;
}

/** What a call answered: the `n` of the output, or the code of an error. */
export interface Call {
  readonly n: string;
  readonly got?: string;
  readonly code?: string;
  /** As of Enqueued. */
  readonly took: number;
  readonly starved?: number;
  readonly at: number;
}

export interface Finish extends JobName {
  readonly at: number;
}

/** The fields of a stored job. */
export type Fields = Readonly<Record<string, string>>;

/** A job as it was read: first when its finish was heard, then twice at the end. */
export interface Reading extends JobName {
  readonly fields: Fields;
}

/** What the server's own log of writes says of a job. */
export interface Written {
  /** How often its status became `success` or `error`. */
  readonly completions: number;
  /** How often it became `success`. */
  readonly successes?: number;
  /** How often it was put back into its queue after its end. */
  readonly retries?: number;
  readonly deleted?: boolean;
  /** What was written of each of its steps. A write whose reply is lost is sent again. */
  readonly steps?: ReadonlyMap<string, ReadonlySet<string>>;
  /** Writes of status, output or error after it was final, in words. */
  readonly changes: readonly string[];
}

/** A claim of a job with a key, as the server's own log of writes has it. */
export interface LimitedClaim extends JobName {
  readonly token: number;
  readonly key: string;
  /** By the server's clock, in ms since 1970. */
  readonly started: number;
  /** From when to when the claim was held: instants of the server's own order. */
  readonly from: number;
  readonly until: number;
}

/** What functions with limits did, by the server's log of writes. */
export interface LimitedJobs {
  readonly claims: readonly LimitedClaim[];
  /** The instant at which a job got its outcome, by `fn#id`. */
  readonly ended: ReadonlyMap<string, number>;
}

/** How many workers a function's count tells, and how many there are. */
export interface CountSeen {
  readonly fn: string;
  readonly expected: number;
  readonly seen: number;
  readonly when: string;
}

/** What a plain worker says it had to send again, as its reply was lost. */
export interface PlainTrouble {
  /** Takes, by function: a job may have gone with the reply. */
  readonly takes: ReadonlyMap<string, number>;
  /** Jobs whose end it wrote or published more than once. */
  readonly repeated: ReadonlySet<string>;
}

/** What a call of `retry` or `discard` answered: how many jobs, or the code of an error. Without `id` it was for all failed jobs. */
export interface Mending {
  readonly verb: 'retry' | 'discard';
  readonly id?: string;
  readonly told: number | string;
}

/** What an operator did and saw during faults. */
export interface OperatorSeen {
  readonly reads: number;
  /** How many reads ended as an error, by its code. */
  readonly readErrors: ReadonlyMap<string, number>;
  readonly mendings: readonly Mending[];
}

/** When something broke, in ms since 1970. Without a process it may concern all of them. */
export interface Disturbance {
  readonly began: number;
  readonly ended: number;
  readonly process?: string;
}

/** What statistics say, by function, and why they may lack some. */
export interface StatisticsSeen {
  readonly counted: ReadonlyMap<string, { readonly done: number; readonly failed: number }>;
  readonly disturbances: readonly Disturbance[];
}

/** From when to when the server was not there, in ms since 1970. */
export type Away = readonly [began: number, ended: number];

/** All that was seen of a run. */
export interface History {
  readonly lease: number;
  readonly maxStalls: number;
  readonly enqueueTimeout: number;
  readonly attempts: Readonly<Record<string, number>>;
  readonly enqueued: readonly Enqueued[];
  readonly unsure: readonly Unsure[];
  readonly starts: readonly Start[];
  readonly ends: readonly End[];
  readonly cancels: readonly Cancel[];
  readonly results: readonly Result[];
  readonly calls: readonly Call[];
  readonly steps: readonly StepNote[];
  readonly recorded: readonly StepNote[];
  readonly flows: readonly FlowNote[];
  readonly finishes: readonly Finish[];
  readonly firstReadings: ReadonlyMap<string, Reading>;
  readonly readings: ReadonlyMap<string, Reading>;
  readonly laterReadings: ReadonlyMap<string, Reading>;
  readonly written: ReadonlyMap<string, Written>;
  readonly limited: LimitedJobs;
  readonly counts: readonly CountSeen[];
  readonly leftovers: readonly string[];
  readonly away?: readonly Away[];
  /** Absent where nothing reads them. */
  readonly indexes?: Indexes;
  readonly statistics?: StatisticsSeen;
  readonly operator?: OperatorSeen;
  /** Ids that were seen in two places at once, in words. */
  readonly doubled?: readonly string[];
  readonly plain: PlainTrouble;
  /** When another master took over that lacked the last writes, in ms since 1970. */
  readonly failedOver?: number;
  /** Processes that ended without being stopped. */
  readonly crashes: readonly string[];
}

/** Whole lines of a history file; one that a SIGKILL cut short is left out. */
export function readLines(path: string): Record<string, unknown>[] {
  if (!existsSync(path)) return [];
  return readFileSync(path, 'utf8').split('\n').flatMap(parseLine);
}

function parseLine(line: string): Record<string, unknown>[] {
  try {
    return [JSON.parse(line) as Record<string, unknown>];
  } catch {
    return [];
  }
}
