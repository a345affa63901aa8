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

/** Whether a program does what it is for, and what it says about it. */
export interface Health {
  readonly isWell: boolean;
  readonly details: Readonly<Record<string, unknown>>;
}

/** What is monitored. */
export interface Monitored {
  readonly measures: readonly Measure[];
  /** Calls `listener` for each run of a job from here on, where jobs are run. */
  readonly onRun?: (listener: (run: JobRun) => void) => void;
  health(): Health;
}

/** Requests by type, of types that are served: others' names are anybody's to choose. */
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
