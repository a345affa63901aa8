import type { Cancellation } from './job-store.js';
import { scriptsIn } from '../redis/script.js';

const defineScript = scriptsIn(new URL('./scripts/', import.meta.url));

type Bytes = string | Uint8Array;
/** Milliseconds since 1970, or the server's clock. */
type Now = number | '';

/** The id of the last job; the others precede it without a gap. */
export const enqueue = defineScript<
  [now: number, call: number, score: number | '', options: string, inputs: Bytes[]],
  number
>('enqueue', (reply) => reply as number);

/** Outcomes as the script takes them, four values each. */
export type OutcomeArguments = Bytes[];

export interface TakenJob {
  readonly id: string;
  readonly token: number;
  readonly attempts: number;
  readonly stalls: number;
  /** JSON, or empty. */
  readonly options: string;
  readonly input: Buffer;
}

export interface TurnReply {
  /** "id:token" of outcomes whose lease had gone. */
  readonly refused: readonly string[];
  readonly claims: readonly TakenJob[];
  /** Ids that were queued but can't be run: no hash, one of the wrong type, or finished. */
  readonly dropped: readonly string[];
  /** Milliseconds until the next scheduled job is due, 0 when no slot is left free, -1 when none is known. */
  readonly wait: number;
}

export const turn = defineScript<
  [now: Now, lease: number, slots: number, maxStalls: number, recover: 0 | 1, outcomes: OutcomeArguments],
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
export const renew = defineScript<[now: Now, lease: number, members: string[]], string[]>('renew', (reply) =>
  (reply as Buffer[]).map(String),
);

/** For each function, milliseconds until its next scheduled job is due, or -1. */
export const look = defineScript<[now: Now], number[]>('look', (reply) => reply as number[]);

export const cancel = defineScript<[now: Now, id: string, message: string, error: string], Cancellation>(
  'cancel',
  (reply) => String(reply) as Cancellation,
);

/** The count of workers. `hold` 0 signs off. */
export const presence = defineScript<[now: Now, worker: string, hold: number], number>(
  'presence',
  (reply) => reply as number,
);

const FIELDS_A_CLAIM = 6;

function readClaims(flat: readonly Buffer[]): TakenJob[] {
  const claims = [];
  for (let i = 0; i + FIELDS_A_CLAIM <= flat.length; i += FIELDS_A_CLAIM) {
    const [id, token, attempts, stalls, options, input] = flat.slice(i, i + FIELDS_A_CLAIM) as [
      Buffer,
      Buffer,
      Buffer,
      Buffer,
      Buffer,
      Buffer,
    ];
    claims.push({
      id: id.toString(),
      token: Number(token),
      attempts: Number(attempts),
      stalls: Number(stalls),
      options: options.toString(),
      input,
    });
  }
  return claims;
}
