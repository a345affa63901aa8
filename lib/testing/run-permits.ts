/** How many runs ended in which way. */
export interface Drained {
  /** Jobs that succeeded. */
  readonly done: number;
  /** Jobs that failed for good, cancelled ones included. */
  readonly failed: number;
  /** Runs that are followed by another: the attempt failed, or its handler threw a SnoozeError or held its limit key. */
  readonly retried: number;
}

export type Ending = keyof Drained;

/** How each outcome is counted. */
export const ENDINGS = {
  success: 'done',
  error: 'failed',
  retry: 'retried',
  snoozed: 'retried',
  held: 'retried',
  released: undefined,
} as const;

/** Allows some jobs to run, and counts how they end. */
export class Permit {
  private readonly counts = { done: 0, failed: 0, retried: 0 };

  constructor(readonly allows: (instance: string, fn: string, id: string) => boolean) {}

  count(ending: Ending): void {
    this.counts[ending] += 1;
  }

  get drained(): Drained {
    return { ...this.counts };
  }
}

/** The permits that are valid now. A job that none of them allows waits. */
export class Permits {
  private readonly held = new Set<Permit>();

  constructor(private readonly onChange: () => void) {}

  allows(instance: string, fn: string, id: string): boolean {
    for (const permit of this.held) if (permit.allows(instance, fn, id)) return true;
    return false;
  }

  count(instance: string, fn: string, id: string, ending: Ending): void {
    for (const permit of this.held) if (permit.allows(instance, fn, id)) permit.count(ending);
  }

  grant(permit: Permit): void {
    this.held.add(permit);
    this.onChange();
  }

  withdraw(permit: Permit): void {
    this.held.delete(permit);
  }
}
