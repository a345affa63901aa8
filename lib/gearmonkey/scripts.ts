import type { Claim } from '../job/job-source.js';
import { scriptsIn } from '../redis/script.js';

const defineScript = scriptsIn(new URL('./scripts/', import.meta.url));

/** The id of the last job; the others precede it without a gap. */
export const enqueue = defineScript<
  [now: number, score: number | '', inputs: (string | Uint8Array)[]],
  number
>('enqueue', (reply) => reply as number);

/** Outcomes as the script takes them, four values each. */
export type OutcomeArguments = (string | Uint8Array)[];

export interface TurnReply {
  /** "id:token" of outcomes whose lease had gone. */
  readonly refused: readonly string[];
  readonly claims: readonly Omit<Claim, 'fn'>[];
  /** Ids that were queued but can't be run: no hash, one of the wrong type, or finished. */
  readonly dropped: readonly string[];
  /** Milliseconds until the next scheduled job is due, 0 when jobs are left, -1 when none is known. */
  readonly wait: number;
}

export const turn = defineScript<
  [now: number | '', lease: number, slots: number, maxStalls: number, outcomes: OutcomeArguments],
  TurnReply
>('turn', (reply) => {
  const [refused, claims, dropped, wait] = reply as [Buffer[], Buffer[], Buffer[], number];
  return { refused: refused.map(String), claims: readClaims(claims), dropped: dropped.map(String), wait };
});

/** Whether the update was taken: false when another worker holds the job by now. */
export const progress = defineScript<
  [id: string, member: string, dividend: number, divisor: number],
  boolean
>('progress', (reply) => reply === 1);

/** The members that are lost. */
export const renew = defineScript<[now: number | '', lease: number, members: string[]], string[]>(
  'renew',
  (reply) => (reply as Buffer[]).map(String),
);

/** For each function, milliseconds until its next scheduled job is due, or -1. */
export const look = defineScript<[now: number | ''], number[]>('look', (reply) => reply as number[]);

function readClaims(flat: readonly Buffer[]): TurnReply['claims'] {
  const claims = [];
  for (let i = 0; i + 3 < flat.length; i += 4) {
    const [id, token, attempts, input] = flat.slice(i, i + 4) as [Buffer, Buffer, Buffer, Buffer];
    claims.push({ id: id.toString(), token: Number(token), attempts: Number(attempts), input });
  }
  return claims;
}
