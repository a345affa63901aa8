/** `error`: jobs are lost, stuck or refused. `warning`: they may be. */
export type Severity = 'error' | 'warning';

/** Something that is wrong, and what to do. */
export interface Finding {
  readonly code: string;
  readonly severity: Severity;
  /** What is wrong, with its numbers. */
  readonly title: string;
  readonly remedy: string;
  /** The function that it concerns. */
  readonly fn?: string;
  /** A safe repair. */
  readonly fix?: Fix;
}

/** A repair that loses nothing, whatever happens meanwhile. */
export interface Fix {
  readonly does: string;
  apply(): Promise<unknown>;
}

/** What could not be looked at, and why. */
export interface Skipped {
  readonly what: string;
  readonly why: string;
}

/** The result of an examination. */
export interface Diagnosis {
  readonly findings: readonly Finding[];
  readonly skipped: readonly Skipped[];
  /** The functions that were examined, as on the wire. */
  readonly functions: readonly string[];
}
