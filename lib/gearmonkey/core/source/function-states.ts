/**
 * How a worker gets a function's jobs:
 *
 * - `claiming`: there may be jobs. Whenever the worker claims and has a free slot, it asks for them
 * - `idle`: the last call found fewer jobs than it asked for. The worker stops asking; the next blocking call waits for
 *   the marker
 * - `blocked`: a blocking call waits for the marker
 * - `disconnected`: the connection of that call broke, perhaps with a marker in the reply. Once it is back, the server
 *   is asked to set the marker if there is work
 * - `draining`: the worker claims no more jobs and takes no markers, which others need
 */
export type FunctionState = 'claiming' | 'idle' | 'blocked' | 'disconnected' | 'draining';

/**
 * The events:
 *
 * - `filled`, `short`: a call claimed as many jobs as it asked for, or fewer
 * - `block`, `unblock`: a blocking call begins to wait for the marker, or has ended
 * - `wake`: its marker came, or no slot is free: then the marker is left to workers that have one
 * - `lose`, `recover`: the connection broke; it is back, and the marker was set if there is work
 * - `drain`, `resume`: the worker stops claiming; it claims again
 */
export type FunctionEvent =
  'filled' | 'short' | 'block' | 'unblock' | 'wake' | 'lose' | 'recover' | 'drain' | 'resume';

/** All legal transitions. Any other event is a bug, which is reported. */
export const TRANSITIONS: Readonly<
  Record<FunctionState, Readonly<Partial<Record<FunctionEvent, FunctionState>>>>
> = {
  claiming: { filled: 'claiming', short: 'idle', drain: 'draining', resume: 'claiming' },
  idle: {
    filled: 'claiming',
    short: 'idle',
    wake: 'claiming',
    block: 'blocked',
    lose: 'disconnected',
    drain: 'draining',
    resume: 'idle',
  },
  blocked: {
    // The claim sent behind the blocking call may reply before that call's end is handled.
    filled: 'claiming',
    short: 'blocked',
    wake: 'claiming',
    unblock: 'idle',
    lose: 'disconnected',
    drain: 'draining',
    resume: 'blocked',
  },
  disconnected: {
    filled: 'claiming',
    short: 'disconnected',
    wake: 'claiming',
    recover: 'idle',
    lose: 'disconnected',
    drain: 'draining',
    resume: 'disconnected',
  },
  // A call may still be under way: the jobs it claims are released.
  draining: { filled: 'draining', short: 'draining', drain: 'draining', resume: 'claiming' },
};

/** States in which the worker does not ask for jobs until the notifier reports work. */
const WAITING: ReadonlySet<FunctionState> = new Set(['idle', 'blocked', 'disconnected']);

interface Entry {
  readonly state: FunctionState;
  /** When the next scheduled job falls due, by `performance.now()`. */
  due: number;
}

/** The state of each function of a worker. */
export class FunctionStates {
  /** Functions in a waiting state; all others are `claiming`, or `draining` if the worker is. */
  private readonly waiting = new Map<string, Entry>();
  private draining = false;

  /** @param onIllegal called for an event that the state doesn't allow; the event is ignored */
  constructor(private readonly onIllegal: (message: string) => void) {}

  get isDraining(): boolean {
    return this.draining;
  }

  of(fn: string): FunctionState {
    return this.waiting.get(fn)?.state ?? (this.draining ? 'draining' : 'claiming');
  }

  isWaiting(fn: string): boolean {
    return this.waiting.has(fn);
  }

  /** Applies an event; returns the new state. */
  apply(fn: string, event: Exclude<FunctionEvent, 'drain' | 'resume'>): FunctionState {
    const before = this.of(fn);
    const after = TRANSITIONS[before][event];
    if (after === undefined) {
      this.onIllegal(
        `The event "${event}" is illegal in the state "${before}" of "${fn}". This is a bug: please report it.`,
      );
      return before;
    }
    if (WAITING.has(after)) this.waiting.set(fn, { state: after, due: this.due(fn) });
    else this.waiting.delete(fn);
    return after;
  }

  /** For all functions: the worker stops claiming. */
  drain(): void {
    this.draining = true;
    this.waiting.clear();
  }

  /** For all functions: the worker claims again. */
  resume(): void {
    this.draining = false;
  }

  /** When the function's next scheduled job falls due, by `performance.now()`; Infinity if none is known. */
  due(fn: string): number {
    return this.waiting.get(fn)?.due ?? Infinity;
  }

  /** The worker runs no more jobs of this function. */
  forget(fn: string): void {
    this.waiting.delete(fn);
  }

  /** @param wait milliseconds, or -1 if no scheduled job is known */
  expect(fn: string, wait: number): void {
    const entry = this.waiting.get(fn);
    if (entry) entry.due = wait < 0 ? Infinity : performance.now() + wait;
  }
}
