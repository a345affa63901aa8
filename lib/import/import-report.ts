import type { ForeignState, SystemName } from './foreign-system.js';
import type { LeftReason } from './found-job.js';

/** Ids that are named of each reason. */
const MAX_IDS = 20;

type Moved = ForeignState | 'schedules';

/** Jobs that stay for one reason. */
export interface LeftJobs {
  readonly reason: LeftReason;
  readonly count: number;
  /** Of the first of them. */
  readonly ids: readonly string[];
}

/** What an import has done, or with `dryRun` what it would do. */
export interface ImportReport {
  readonly system: SystemName;
  readonly queue: string;
  readonly dryRun: boolean;
  /** By the state in which they were. */
  readonly moved: Readonly<Partial<Record<Moved, number>>>;
  /** By their functions. */
  readonly functions: Readonly<Record<string, number>>;
  readonly left: readonly LeftJobs[];
  /** Whether it has first ended a step of an earlier import. */
  readonly resumed: boolean;
  readonly interrupted: boolean;
}

/** Counts what becomes of jobs. */
export class ImportCount {
  private readonly states = new Map<Moved, number>();
  private readonly functions = new Map<string, number>();
  private reasons = new Map<LeftReason, { count: number; ids: Set<string> }>();
  private isResumed = false;
  total = 0;

  /** What stays is looked at again. */
  beginRound(): void {
    this.reasons = new Map();
  }

  resumed(): void {
    this.isResumed = true;
  }

  moved(state: Moved, fn: string): void {
    this.total += 1;
    this.states.set(state, (this.states.get(state) ?? 0) + 1);
    this.functions.set(fn, (this.functions.get(fn) ?? 0) + 1);
  }

  left(reason: LeftReason, id: string): void {
    const known = this.reasons.get(reason) ?? { count: 0, ids: new Set<string>() };
    this.reasons.set(reason, known);
    known.count += 1;
    if (known.ids.size < MAX_IDS) known.ids.add(id);
  }

  leftMany(reason: LeftReason, count: number): void {
    const { ids = new Set<string>() } = this.reasons.get(reason) ?? {};
    this.reasons.set(reason, { count, ids });
  }

  report(about: Pick<ImportReport, 'system' | 'queue' | 'dryRun' | 'interrupted'>): ImportReport {
    return {
      ...about,
      resumed: this.isResumed,
      moved: Object.fromEntries(this.states),
      functions: Object.fromEntries(this.functions),
      left: [...this.reasons].map(([reason, { count, ids }]) => ({ reason, count, ids: [...ids] })),
    };
  }
}
