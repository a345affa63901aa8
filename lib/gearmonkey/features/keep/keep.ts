import type { JobStore } from '../../core/client/job-store.js';
import type { Feature } from '../../core/feature.js';
import type { KeptRules } from '../../core/source/source-features.js';
import { keepRules, type Keep, type KeepRules } from '../../../job/keep.js';

/** How long jobs that have ended can be read. */
export const keep: Feature<JobStore> = {
  name: 'keep',
  source: ({ options }) => ({ kept: new SourceKeep(options.keep) }),
};

/** How long the jobs can be read that a worker ends, by function. */
export class SourceKeep implements KeptRules {
  private readonly rules = new Map<string, KeepRules>();

  constructor(private readonly usual: Keep = {}) {}

  set(fn: string, keep: Keep): void {
    this.rules.set(fn, keepRules(this.usual, keep));
  }

  of(fn: string): KeepRules {
    const found = this.rules.get(fn) ?? keepRules(this.usual);
    this.rules.set(fn, found);
    return found;
  }
}
