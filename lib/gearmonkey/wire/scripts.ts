import { scriptsIn } from '../../redis/script.js';

const defineScript = scriptsIn(new URL('./scripts/', import.meta.url));

type Bytes = string | Uint8Array;
/** Milliseconds since 1970, or the server's clock. */
type Now = number | '';

/** The id of the last job; the others precede it without a gap. */
export const enqueue = defineScript<
  [
    now: number,
    call: number,
    memorySeconds: number,
    mark: number,
    score: number | '',
    options: string,
    inputs: Bytes[],
  ],
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

export interface ClaimReply {
  /** "id:token" of outcomes whose lease had gone. */
  readonly refused: readonly string[];
  readonly claims: readonly TakenJob[];
  /** Ids that were queued but can't be run: no hash, one of the wrong type, finished, or taken already. */
  readonly dropped: readonly string[];
  /** Milliseconds until the next scheduled job is due, 0 when there is no more room, -1 when none is known. */
  readonly wait: number;
  /** Whether plain clients sent any of the claimed jobs: nobody tells of theirs. */
  readonly plain: boolean;
}

/** Settles outcomes and claims for the free slots. */
export const claim = defineScript<
  [
    now: Now,
    lease: number,
    slots: number,
    maxStalls: number,
    recover: 0 | 1,
    largestInput: number,
    outcomes: OutcomeArguments,
  ],
  ClaimReply
>('claim', (reply) => {
  const [refused, claims, dropped, wait, plain] = reply as [Buffer[], Buffer[], Buffer[], number, number];
  return {
    refused: refused.map(String),
    claims: readClaims(claims),
    dropped: dropped.map(String),
    wait,
    plain: plain > 0,
  };
});

/** Whether the update was taken: false when another worker holds the job by now. */
export const progress = defineScript<[member: string, dividend: number, divisor: number], boolean>(
  'progress',
  (reply) => reply === 1,
);

/** The members that are lost. */
export const renew = defineScript<[now: Now, lease: number, members: string[]], string[]>('renew', (reply) =>
  (reply as Buffer[]).map(String),
);

/** What a look at a function found. */
export interface Looked {
  /** Milliseconds until the next scheduled job is due, or -1. */
  readonly wait: number;
  /** Whether this worker leads the function. */
  readonly leads: boolean;
  /** Whether plain clients send jobs; only its leader is told. */
  readonly plain: boolean;
}

/** Of each function. `worker` '' looks at everything; `hold` 0 leaves it to others. */
export const look = defineScript<[now: Now, worker: string, hold: number], Looked[]>('look', (reply) => {
  const flat = reply as number[];
  return flat.flatMap((wait, index) => {
    const leading = flat[index + 1] ?? 0;
    return index % 2 === 0 ? [{ wait, leads: leading > 0, plain: leading === 2 }] : [];
  });
});

/** Which of the markers were set, by index. */
export const collect = defineScript<[], number[]>('collect', (reply) =>
  (reply as number[]).map((index) => index - 1),
);

/** What came of a cancellation; `lost`: another job has the id. */
export type Cancellation = 'cancelled' | 'finished' | 'missing' | 'lost' | 'running';

export const cancel = defineScript<
  [now: Now, id: string, mark: number | '', message: string, error: string],
  Cancellation
>('cancel', (reply) => String(reply) as Cancellation);

/**
 * The count of workers of each function, -1 where a `beat` found nothing new. `hold` 0 signs off; `worker` '' asks only.
 */
export const presence = defineScript<[now: Now, worker: string, hold: number, beat: 0 | 1], number[]>(
  'presence',
  (reply) => reply as number[],
);

const VALUES_A_CLAIM = 3;

function readClaims(flat: readonly Buffer[]): TakenJob[] {
  const claims = [];
  for (let i = 0; i + VALUES_A_CLAIM <= flat.length; i += VALUES_A_CLAIM) {
    const [id, claim, input] = [flat[i], flat[i + 1], flat[i + 2]] as [Buffer, Buffer, Buffer];
    claims.push({ id: id.toString(), input, ...readClaim(claim.toString()) });
  }
  return claims;
}

/** "token:attempts:stalls:options", or the token alone of a first claim without options. */
function readClaim(text: string): Omit<TakenJob, 'id' | 'input'> {
  const [token, attempts = 1, stalls = 0, ...options] = text.split(':');
  return {
    token: Number(token),
    attempts: Number(attempts),
    stalls: Number(stalls),
    options: options.join(':'),
  };
}
