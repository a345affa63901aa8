import { scriptsIn } from '../../redis/script.js';
import { Raw } from '../message-pack/raw.js';
import { LUA } from './lua.embedded.js';

const defineScript = scriptsIn(LUA);

export type Argument = string | number | Uint8Array;

/** A job for a worker. */
export interface HandedJob {
  readonly id: string;
  readonly attempt: number;
  readonly worker: string;
  /** Empty for a worker that pulls. */
  readonly url: string;
  readonly name: string;
  /** Seconds. */
  readonly timeout: number;
  readonly argument: Raw;
  /** How often it was begun before. */
  readonly retryCount: number;
  /** How many jobs its worker takes in one push. */
  readonly batch: number;
  /** Whether it ends if it fails now. */
  readonly isLast: boolean;
  /** For how many milliseconds the pull had waited that it was handed to. */
  readonly waited?: number;
}

/** A job that was matched with earlier constraints. */
export interface StaleJob {
  readonly id: string;
  readonly lane: string;
  readonly name: string;
  readonly argument: Raw;
}

/** What happened in a turn. Each event is in the tally of one master: the one that took the turn. */
export interface Tally {
  readonly enqueued: number;
  readonly cancelled: number;
  readonly done: number;
  readonly error: number;
  readonly retried: number;
  readonly timedOut: number;
  readonly lost: number;
  /** Milliseconds from enqueue to first hand-out, of each job first handed out in this turn. */
  readonly waits: readonly number[];
}

export interface TurnReply {
  readonly replies: readonly unknown[];
  readonly handed: readonly HandedJob[];
  readonly stale: readonly StaleJob[];
  /** Milliseconds until something falls due, or -1. */
  readonly wait: number;
  /** Whether there is more to do at once. */
  readonly more: boolean;
  readonly tally: Tally;
  readonly probes: readonly Probe[];
}

/** A worker that was silent for long and should be asked whether it still runs. */
export interface Probe {
  readonly worker: string;
  readonly url: string;
}

export const turn = defineScript<
  [
    now: number | '',
    settings: Uint8Array,
    seed: number,
    sweep: 0 | 1,
    pushes: number,
    operations: Argument[],
  ],
  TurnReply
>('turn', (reply) => {
  const [replies, handed, stale, wait, more, tally, probes] = reply as [
    unknown[],
    Buffer[][],
    Buffer[][],
    number,
    number,
    [number[], number[]],
    [Buffer, Buffer][],
  ];
  return {
    replies,
    handed: handed.map(readHanded),
    stale: stale.map(readStale),
    wait,
    more: more === 1,
    tally: readTally(tally),
    probes: probes.map(([worker, url]) => ({ worker: String(worker), url: String(url) })),
  };
});

function readTally([counts, waits]: readonly [number[], number[]]): Tally {
  const [enqueued = 0, cancelled = 0, done = 0, error = 0, retried = 0, timedOut = 0, lost = 0] = counts;
  return { enqueued, cancelled, done, error, retried, timedOut, lost, waits };
}

export function readHanded(parts: readonly Buffer[]): HandedJob {
  const [id, attempt, worker, url, name, timeout, argument, begun, batch, last] = parts as [
    Buffer,
    Buffer,
    Buffer,
    Buffer,
    Buffer,
    Buffer,
    Buffer | null,
    Buffer,
    Buffer,
    Buffer,
  ];
  return {
    id: String(id),
    attempt: Number(attempt),
    worker: String(worker),
    url: String(url),
    name: String(name),
    timeout: Number(timeout),
    argument: argument ? new Raw(argument) : Raw.EMPTY_MAP,
    retryCount: Number(begun),
    batch: Number(batch),
    isLast: String(last) === '1',
  };
}

function readStale(parts: readonly Buffer[]): StaleJob {
  const [id, lane, name, argument] = parts as [Buffer, Buffer, Buffer, Buffer | null];
  return {
    id: String(id),
    lane: String(lane),
    name: String(name),
    argument: argument ? new Raw(argument) : Raw.EMPTY_MAP,
  };
}
