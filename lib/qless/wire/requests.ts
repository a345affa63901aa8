/** JSON as text. The requests below have the arguments of scripts by name; `…Arguments` lists them in the order of the contracts. */
export type Json = string;
/** Each option's name and its value after it, as the command's contract lists them. */
export type OptionArguments = readonly (string | number)[];

/** A job to put. */
export interface PutRequest {
  readonly queue: string;
  readonly jid: string;
  readonly klass: string;
  readonly data: Json;
  /** Seconds. */
  readonly delay: number;
  readonly options: OptionArguments;
}

export type PutArguments = [
  worker: string,
  queue: string,
  jid: string,
  klass: string,
  data: Json,
  delay: number,
  options: OptionArguments,
];

/** Has no worker: a client that puts a job releases no lock. */
export function putArguments({ queue, jid, klass, data, delay, options }: PutRequest): PutArguments {
  return ['', queue, jid, klass, data, delay, options];
}

/** A recurring job. */
export interface RecurRequest extends Omit<PutRequest, 'delay'> {
  /** Seconds from one to the next. */
  readonly interval: number;
  /** Seconds until the first. */
  readonly offset: number;
}

export type RecurArguments = [
  queue: string,
  jid: string,
  klass: string,
  data: Json,
  spec: 'interval',
  interval: number,
  offset: number,
  options: OptionArguments,
];

export function recurArguments(request: RecurRequest): RecurArguments {
  const { queue, jid, klass, data, interval, offset, options } = request;
  return [queue, jid, klass, data, 'interval', interval, offset, options];
}

/** The arguments of a claim. */
export interface ClaimRequest {
  readonly worker: string;
  /** Seconds that jobs are locked, or '' for the heartbeat of each queue. */
  readonly lock: number | '';
  readonly popping: 'ordered' | 'round-robin';
  /** The queue to start with, counted from 1. */
  readonly first: number;
  /** How many jobs at most. */
  readonly count: number;
  /** The waiter whose tokens a claim without a job leaves with the queues; '' for none. */
  readonly waiter: string;
  /** Whether queues whose jobs stay because of their klass wake another worker. */
  readonly wakeOthers: boolean;
  /** Klasses and their free slots; none for jobs of any klass. */
  readonly slots: readonly (readonly [klass: string, free: number])[];
  /** Queues, and where the claim continues among the waiting jobs. */
  readonly queues: readonly (readonly [queue: string, offset: number])[];
}

export type ClaimArguments = [
  worker: string,
  lock: number | '',
  popping: 'ordered' | 'round-robin',
  first: number,
  count: number,
  waiter: string,
  wakeOthers: '1' | '',
  klasses: number,
  slots: readonly (string | number)[],
  queues: readonly (string | number)[],
];

export function claimArguments(request: ClaimRequest): ClaimArguments {
  const { worker, lock, popping, first, count, waiter, wakeOthers, slots, queues } = request;
  const settings = [worker, lock, popping, first, count, waiter, wakeOthers ? '1' : ''] as const;
  return [...settings, slots.length, slots.flat(), queues.flat()];
}

/** How a claim ends. */
export type Settlement = { readonly jid: string; readonly token: number } & (
  | { readonly kind: 'complete'; readonly output: string }
  | { readonly kind: 'fail'; readonly group: string; readonly message: string }
  | { readonly kind: 'retry'; readonly delay: number; readonly group: string; readonly message: string }
  | { readonly kind: 'release' }
);

/** Six values each. */
export type SettleArguments = readonly (string | number)[];

export function settleArguments(settlements: readonly Settlement[]): SettleArguments {
  return settlements.flatMap((settlement) => {
    const { kind, jid, token } = settlement;
    switch (kind) {
      case 'complete':
        return [kind, jid, token, settlement.output, '', ''];
      case 'fail':
        return [kind, jid, token, settlement.group, settlement.message, ''];
      case 'retry':
        return [kind, jid, token, settlement.delay, settlement.group, settlement.message];
      case 'release':
        return [kind, jid, token, '', '', ''];
    }
  });
}
