/** A finished job's hash lives for 25 hours. */
export const JOB_TTL_SECONDS = 90_000;

/** Where a waiting job sits. */
export type Queue = 'high' | 'normal' | 'low' | 'scheduled';

/** Every key and channel of one function: the protocol's, and after them ours (docs/protocol.md). */
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
  /** Channel of progress updates. */
  readonly progress: string;
  /** Channel of "id:token" whose handler shall stop. */
  readonly cancel: string;
  /** Sorted set of workers of ours by the time their presence ends. */
  readonly workers: string;
  /** Prefix of what a sender's last call did: the sender follows. */
  readonly senders: string;
}

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
    progress: `progress:${fn}`,
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

/** `7:3/10` as on `progress:{FN}`; undefined for anything else. */
export function parseProgress(
  message: string,
): { id: string; dividend: number; divisor: number } | undefined {
  const match = /^(.+):([^:/]+)\/([^:/]+)$/s.exec(message);
  const [id = '', dividend, divisor] = [match?.[1], Number(match?.[2]), Number(match?.[3])];
  return Number.isFinite(dividend) && Number.isFinite(divisor) ? { id, dividend, divisor } : undefined;
}
