import { randomInt } from 'node:crypto';

/** A finished job's hash lives for 25 hours. */
export const JOB_TTL_SECONDS = 90_000;

/** Where a waiting job sits. */
export type Queue = 'high' | 'normal' | 'low' | 'scheduled';

/** Every key and channel of one function: the protocol's, and after them ours (docs/understand/protocol.md). */
export interface FunctionKeys {
  readonly ids: string;
  readonly count: string;
  readonly channel: string;
  readonly high: string;
  readonly normal: string;
  readonly low: string;
  readonly scheduled: string;
  /** Prefix: the id follows. */
  readonly jobs: string;
  /** Prefix: the id follows. */
  readonly locks: string;
  /** Sorted set of "id:token" by the time a lease expires. */
  readonly leases: string;
  /** List of at most one element: an idle worker that pops it looks for jobs. */
  readonly wake: string;
  /** The worker that looks for work nobody told of, and listens for jobs of plain clients. */
  readonly leader: string;
  /** There while plain clients send jobs. */
  readonly plain: string;
  /** Channel of progress updates. */
  readonly progress: string;
  /** Prefix of what a worker claimed last behind a blocking call: the worker follows. */
  readonly claims: string;
  /** Prefix of the channels that outputs are sent to: who waits follows. */
  readonly replies: string;
  /** Channel of "id:token" whose handler has to stop. */
  readonly cancel: string;
  /** Sorted set of workers of ours by the time their presence ends. */
  readonly workers: string;
  /** Prefix of what a sender's last call did: the sender follows. */
  readonly senders: string;
}

/** How a function's name becomes keys. @throws InvalidFunctionNameError for one that can't be used there */
export type KeysOf = (fn: string) => FunctionKeys;

/** The name as it is. */
export function keysOf(fn: string): FunctionKeys {
  return {
    ids: `uid:${fn}`,
    count: `count:${fn}`,
    channel: `channel:${fn}`,
    high: `queue:${fn}:high`,
    normal: `queue:${fn}:normal`,
    low: `queue:${fn}:low`,
    scheduled: `queue:${fn}:scheduled`,
    jobs: `job:${fn}:`,
    locks: `lock:${fn}:`,
    leases: `lease:${fn}`,
    wake: `wake:${fn}`,
    leader: `leader:${fn}`,
    plain: `plain:${fn}`,
    progress: `progress:${fn}`,
    claims: `claims:${fn}:`,
    replies: `reply:${fn}:`,
    cancel: `cancel:${fn}`,
    workers: `workers:${fn}`,
    senders: `sender:${fn}:`,
  };
}

/** `create:7` as on `channel:{FN}`; undefined for what the protocol doesn't know. */
export function parseEvent(message: string): { type: 'create' | 'start' | 'finish'; id: string } | undefined {
  const match = /^(create|start|finish):(.+)$/s.exec(message);
  return match ? { type: match[1] as 'create' | 'start' | 'finish', id: match[2] as string } : undefined;
}

/** `7:TOKEN:3/10` as on `progress:{FN}`; undefined for anything else. */
export function parseProgress(
  message: string,
): { id: string; mark: number; dividend: number; divisor: number } | undefined {
  const match = /^(.+):(\d+):([^:/]+)\/([^:/]+)$/s.exec(message);
  if (!match) return undefined;
  const [id = '', token, dividend, divisor] = [
    match[1],
    Number(match[2]),
    Number(match[3]),
    Number(match[4]),
  ];
  if (!Number.isFinite(dividend) || !Number.isFinite(divisor)) return undefined;
  return { id, mark: markOf(token), dividend, divisor };
}

/** `7:TOKEN:OUTPUT` as on `reply:{FN}:{CLIENT}`; undefined for anything else. */
export function parseReply(message: string): { id: string; mark: number; output: string } | undefined {
  const match = /^(\d+):(\d+):/.exec(message);
  if (!match) return undefined;
  return { id: match[1] as string, mark: markOf(Number(match[2])), output: message.slice(match[0].length) };
}

/** A job's tokens begin behind its mark: so many are its own. */
const TOKENS_A_JOB = 1_000_000;
/** Marks stay below 2^52, tokens with them. */
const MARKS = 2 ** 32;

/** What tells the jobs of a call from any others that are given their ids, as after a failover. */
export function newMark(): number {
  return randomInt(1, MARKS) * TOKENS_A_JOB;
}

/** The mark of the job that was claimed with this token; 0 for a plain client's. */
export function markOf(token: number): number {
  return token - (token % TOKENS_A_JOB);
}

/** Names a job. With its mark, no other that is given its id is taken for it. */
export interface JobKey {
  readonly id: string;
  /** Unknown where only the id is; 0 of a plain client's job. */
  readonly mark?: number | undefined;
}

/** A worker's own list, which ends its blocking call. On a cluster it lies beside a marker of the slot that is waited on. */
export function ownListOf(worker: string, marker = 'wake'): string {
  return `${marker}:${worker}`;
}
