import type { SourceLimit } from '../job/job-source.js';
import type { TestBackend } from './test-backend.js';

/** The functions that have a handler in a test. */
export class OpenFunctions {
  private readonly opened = new Set<string>();
  private readonly limits = new Map<string, SourceLimit>();

  constructor(private readonly backend: Pick<TestBackend, 'count' | 'setLimit'>) {}

  get names(): readonly string[] {
    return [...this.opened];
  }

  /** Sets the limit of a function that is added next. */
  limitBy(fn: string, limit: SourceLimit): void {
    this.limits.set(fn, limit);
  }

  async add(functions: readonly string[]): Promise<void> {
    for (const fn of functions.filter((name) => !this.opened.has(name))) {
      this.opened.add(fn);
      await this.backend.setLimit(fn, this.limits.get(fn));
      await this.backend.count(fn, 1);
    }
  }

  async remove(functions: readonly string[]): Promise<void> {
    for (const fn of functions) {
      this.limits.delete(fn);
      if (this.opened.delete(fn)) await this.backend.count(fn, -1);
    }
  }
}
