import type { JobStore } from '../../core/client/job-store.js';
import type { Feature } from '../../core/feature.js';
import { SourceKeep } from './source-keep.js';

/** How long jobs that have ended can be read. */
export const keep: Feature<JobStore> = {
  name: 'keep',
  source: ({ options }) => ({ kept: new SourceKeep(options.keep) }),
};
