/** What an engine does at a time, in the order of its life. */
export type EngineMode = 'starting' | 'running' | 'stopping' | 'closing' | 'closed';

/**
 * - `answer`: take what is asked of it
 * - `hand out`: give jobs to workers
 * - `hold`: let requests wait for what there isn't yet
 * - `repeat`: ask again what Redis did not answer
 * - `sweep`: handle what is due, without a request
 */
export type EngineRight = 'answer' | 'hand out' | 'hold' | 'repeat' | 'sweep';

interface Mode {
  readonly next: readonly EngineMode[];
  readonly may: ReadonlySet<EngineRight>;
}

const may = (...rights: EngineRight[]): ReadonlySet<EngineRight> => new Set(rights);

const MODES: Readonly<Record<EngineMode, Mode>> = {
  /** Redis has not been reached yet, or refuses a right. */
  starting: { next: ['running', 'stopping'], may: may('answer', 'hold', 'repeat', 'sweep') },
  running: { next: ['stopping'], may: may('answer', 'hand out', 'hold', 'repeat', 'sweep') },
  /** Requests that wait get what there is, and it is written how pushes ended that are under way. */
  stopping: { next: ['closing'], may: may('answer', 'sweep') },
  /** What was asked until now is answered. Without Redis each turn takes its time to fail, so none is added. */
  closing: { next: ['closed'], may: may('answer') },
  closed: { next: [], may: may() },
};

/** The mode of an engine, by which all its parts go. */
export class EngineLife {
  private current: EngineMode = 'starting';

  get mode(): EngineMode {
    return this.current;
  }

  may(right: EngineRight): boolean {
    return MODES[this.current].may.has(right);
  }

  /** False where the mode does not follow the present one: nothing changes then. */
  enter(mode: EngineMode): boolean {
    if (!MODES[this.current].next.includes(mode)) return false;
    this.current = mode;
    return true;
  }
}
