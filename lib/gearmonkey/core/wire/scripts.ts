import { scriptsIn } from '../../../redis/script.js';
import { LUA } from './lua.embedded.js';
import type { KeptText } from './protocol.js';

const defineScript = scriptsIn(LUA);

export type Bytes = string | Uint8Array;
/** Milliseconds since 1970, or '' for the server's clock. */
export type Now = number | '';

/**
 * When jobs are due and expire: '' for a list, seconds since 1970, "+" and the ms until then, or one of these with ":" and the ms
 * since 1970 when they expire, or "+" and the ms from when they may run. Spans go by the server's clock.
 */
export type Times = number | string;

/** Returns the id of the last job; the others precede it without a gap. */
export const enqueue = defineScript<
  [
    created: number,
    call: number,
    memorySeconds: number,
    mark: number,
    times: Times,
    options: string,
    inputs: Bytes[],
  ],
  number
>('enqueue', (reply) => reply as number);

/** Outcomes in the form that the script takes: four values each. */
export type OutcomeArguments = Bytes[];

export interface TakenJob {
  readonly id: string;
  readonly token: number;
  readonly attempts: number;
  readonly stalls: number;
  readonly snoozes: number;
  /** JSON, or empty. */
  readonly options: string;
  readonly input: Buffer;
  /** How long it could have run before, in ms; absent if it was claimed before or a plain client sent it. */
  readonly waited?: number | undefined;
}

export interface ClaimReply {
  /** "id:token" of refused outcomes: their leases had expired. */
  readonly refused: readonly string[];
  readonly claims: readonly TakenJob[];
  /** Queued ids that can't be run: no job, a key of the wrong type, a finished job, or one that a worker has already. */
  readonly dropped: readonly string[];
  /** Milliseconds until the next scheduled job is due; 0 if no slot is left, -1 if there is no such job. */
  readonly wait: number;
  /** Whether plain clients sent any of the claimed jobs: these clients set no wake marker. */
  readonly plain: boolean;
  /** Jobs of a function with a limit that have no key yet. */
  readonly unfiled: readonly TakenJob[];
  /** Whether the function has a limit. */
  readonly limited: boolean;
  /** Whether nothing was claimed because the server has lost the limit's rules. */
  readonly lostRules: boolean;
  /** Whether jobs have ended that others wait for, or that belong to a flow. */
  readonly awaited: boolean;
}

/** Settles outcomes and claims for the free slots. */
export const claim = defineScript<
  [
    now: Now,
    lease: number,
    slots: number,
    maxStalls: number,
    recover: number,
    largestInput: number,
    files: 0 | 1 | '',
    kept: KeptText,
    outcomes: OutcomeArguments,
  ],
  ClaimReply
>('claim', (reply) => {
  const [refused, claims, dropped, wait, plain, unfiled, awaited] = reply as [
    Buffer[],
    (Buffer | number)[],
    Buffer[],
    number,
    number,
    ((Buffer | number)[] | 0 | null)?,
    1?,
  ];
  return {
    refused: refused.map(String),
    claims: readClaims(claims),
    dropped: dropped.map(String),
    wait,
    plain: plain > 0,
    unfiled: readClaims(unfiled || []),
    limited: unfiled !== undefined && unfiled !== null,
    lostRules: unfiled === 0,
    awaited: awaited === 1,
  };
});

/** Returns whether the update was written: false if another worker has the job. */
export const progress = defineScript<[member: string, dividend: number, divisor: number], boolean>(
  'progress',
  (reply) => reply === 1,
);

/** Writes fields of a running job. Returns whether they were written: false if another worker has it. */
export const record = defineScript<[member: string, removed: number, rest: Bytes[]], boolean>(
  'record',
  (reply) => reply === 1,
);

/** Returns the members whose leases are lost. */
export const renew = defineScript<[now: Now, lease: number, worker: string, members: string[]], string[]>(
  'renew',
  (reply) => (reply as Buffer[]).map(String),
);

/** What a check of a function found. */
export interface Looked {
  /** Milliseconds until the next scheduled job is due, or -1. */
  readonly wait: number;
  /** Whether this worker leads the function. */
  readonly leads: boolean;
  /** Whether plain clients send jobs; known only to the leader. */
  readonly plain: boolean;
  /** Milliseconds until the next tick of its schedules, or -1. */
  readonly tick: number;
  /** Whether it has jobs that wait for others, or that belong to flows. */
  readonly flows: boolean;
}

/** Returns one entry per function. `worker` '' checks all functions; `hold` 0 gives up leadership; `every`: how often it looks, if it polls; negative if a call has failed since. */
export const look = defineScript<
  [now: Now, worker: string, hold: number, every: [] | [ms: number]],
  Looked[]
>('look', (reply) => {
  const flat = reply as number[];
  return flat.flatMap((wait, index) => {
    const [leading = 0, tick = -1, flows] = [flat[index + 1], flat[index + 2], flat[index + 3]];
    return index % 4 === 0
      ? [{ wait, leads: leading > 0, plain: leading === 2, tick, flows: flows === 1 }]
      : [];
  });
});

/** Returns the indexes of the markers that were set. */
export const collect = defineScript<[], number[]>('collect', (reply) =>
  (reply as number[]).map((index) => index - 1),
);

/** Returns the milliseconds until a job expires, 0 if it has finished, -1 if it will not expire, -2 if it has ended now in a flow. */
export const expire = defineScript<[now: Now, id: string, mark: number | ''], number>(
  'expire',
  (reply) => reply as number,
);

/**
 * Returns each function's count of workers, or -1 if a `beat` found no change. `hold` 0 signs off; `worker` '' only asks.
 */
export const presence = defineScript<[now: Now, worker: string, hold: number, beat: 0 | 1], number[]>(
  'presence',
  (reply) => reply as number[],
);

const VALUES_A_CLAIM = 4;

function readClaims(flat: readonly (Buffer | number)[]): TakenJob[] {
  const claims = [];
  for (let i = 0; i + VALUES_A_CLAIM <= flat.length; i += VALUES_A_CLAIM) {
    const waited = Number(flat[i + 3]);
    claims.push(
      takenJob(String(flat[i]), String(flat[i + 1]), flat[i + 2] as Buffer, waited < 0 ? undefined : waited),
    );
  }
  return claims;
}

/** @param claim "token:attempts:stalls:snoozes:options". The first claim of a job without options has only the token. */
function takenJob(id: string, claim: string, input: Buffer, waited: number | undefined): TakenJob {
  if (!claim.includes(':'))
    return { id, token: Number(claim), attempts: 1, stalls: 0, snoozes: 0, options: '', input, waited };
  const [token, attempts, stalls, snoozes, ...options] = claim.split(':');
  return {
    id,
    token: Number(token),
    attempts: Number(attempts),
    stalls: Number(stalls),
    snoozes: Number(snoozes),
    options: options.join(':'),
    input,
    waited,
  };
}

/** Returns the server's time, in ms since 1970. */
export const time = defineScript<[now: Now], number>('time', (reply) => reply as number);
