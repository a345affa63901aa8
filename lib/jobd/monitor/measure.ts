import type { Health } from '../../job/health.js';
import type { Reading } from '../../metrics/prometheus.js';
import type { JobRun } from '../vocabulary/operations.js';

/** A figure of a running program, read when it is asked for. */
export interface Measure {
  readonly name: string;
  readonly help: string;
  /** The values by label; one without a label stands alone. */
  read(): Iterable<Reading>;
  /** What the labels are, such as `target`. */
  readonly labelName?: string;
}

/** The health of a program. */
export interface ProgramHealth extends Health {
  /** Whether it is registered with its master; absent without a master. */
  readonly master?: boolean;
  /** Of a master: how many workers it has. */
  readonly workers?: number;
}

/** The values that are monitored. */
export interface Monitored {
  readonly measures: readonly Measure[];
  /** Calls `listener` for each run of a job from now on; absent where no jobs are run. */
  readonly onRun?: (listener: (run: JobRun) => void) => void;
  health(): ProgramHealth;
}

/** Requests by type, only of known types: clients can send any other name. */
export class RequestCounter {
  private readonly counts = new Map<string, number>();

  readonly count = (type: string): void => {
    this.counts.set(type, (this.counts.get(type) ?? 0) + 1);
  };

  measure(name: string): Measure {
    return {
      name,
      help: 'Requests served, by type',
      labelName: 'type',
      read: () => [...this.counts].map(([label, value]) => ({ label, value })),
    };
  }
}
