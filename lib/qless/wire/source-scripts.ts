import { sourceScript } from './assemble.js';
import { jobRecords, nothing, strings, type JobRecord } from './replies.js';
import { scriptOf, type Script } from '../../redis/script.js';

/** Seconds since 1970, or the server's clock. */
type Now = number | '';
type Flag = '1' | '';

function defineScript<Args extends readonly (string | number | readonly (string | number)[])[], Reply>(
  name: string,
  decode: (reply: unknown) => Reply,
): Script<Args, Reply> {
  return scriptOf(sourceScript(name), decode);
}

/** What a claim came to. */
export interface Claimed {
  readonly jobs: readonly JobRecord[];
  /** When they were popped, in seconds: what tells this claim of a job from any other. */
  readonly token: number;
  /** The queue to begin with next time, counted from 1. */
  readonly first: number;
  /** Seconds until something will be due; undefined if nothing is known. */
  readonly due: number | undefined;
  /** For each queue where to look on next time. */
  readonly offsets: readonly number[];
  /** Klasses of jobs that were left where they are. */
  readonly left: readonly string[];
}

export const claim = defineScript<
  [
    now: Now,
    worker: string,
    lock: number | '',
    popping: 'ordered' | 'round-robin',
    first: number,
    count: number,
    waiter: string,
    passes: Flag,
    klasses: number,
    slots: readonly (string | number)[],
    queues: readonly (string | number)[],
  ],
  Claimed
>('claim', (reply) => {
  const [jobs, token, first, due, offsets, left] = reply as [
    Buffer,
    Buffer,
    number,
    Buffer | null,
    number[],
    Buffer[],
  ];
  return {
    jobs: jobRecords(jobs),
    token: Number(token),
    first,
    due: due === null ? undefined : Number(due),
    offsets,
    left: strings(left),
  };
});

/** `woken` is the queue that the caller was woken for and has no use for, or ''. */
export const withdraw = defineScript<
  [now: Now, waiter: string, woken: string, queues: readonly string[]],
  void
>('withdraw', nothing);

/** Outcomes as the script takes them, six values each. Whether each was accepted; the first ones at least, if not all. */
export const settle = defineScript<
  [now: Now, worker: string, outcomes: readonly (string | number)[]],
  boolean[]
>('settle', (reply) => (reply as number[]).map((accepted) => accepted === 1));

/** The members, "jid:token", that are lost. */
export const renew = defineScript<
  [now: Now, worker: string, lock: number | '', members: readonly string[]],
  string[]
>('renew', strings);

/** Whether it was taken: false when the job is no longer the worker's. */
export const progress = defineScript<
  [now: Now, worker: string, jid: string, token: number, dividend: number, divisor: number],
  boolean
>('progress', (reply) => reply === 1);
