/** The phases of an engine, in their order. */
export type EngineMode = 'starting' | 'running' | 'stopping' | 'closing' | 'closed';

/**
 * - `answer`: take operations
 * - `hand out`: give jobs to workers
 * - `hold`: let requests wait for a job, or for its end
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
  /** Waiting requests get the present state as a reply, and the outcomes of pushes are still written. */
  stopping: { next: ['closing'], may: may('answer', 'sweep') },
  /** Finishes pending operations. Without Redis each turn takes long to fail, so it adds none. */
  closing: { next: ['closed'], may: may('answer') },
  closed: { next: [], may: may() },
};

/** The mode of an engine, shared by its parts. */
export class EngineLife {
  private current: EngineMode = 'starting';

  get mode(): EngineMode {
    return this.current;
  }

  may(right: EngineRight): boolean {
    return MODES[this.current].may.has(right);
  }

  /** False if the mode can't follow the present one; nothing changes then. */
  enter(mode: EngineMode): boolean {
    if (!MODES[this.current].next.includes(mode)) return false;
    this.current = mode;
    return true;
  }
}
