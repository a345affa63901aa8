import type { JobStore } from '../../core/client/job-store.js';
import type { Feature } from '../../core/feature.js';
import type { EditStore } from './edit-store.js';
import { EditsClient } from './edits-client.js';
import { JobEdits } from './job-edits.js';

/** Changes of jobs that there are, and of functions: update, cancel, drain, pause. */
export const edits: Feature<JobStore & EditStore> = {
  name: 'edits',
  client: EditsClient,
  handle: (core) => {
    const jobs = new JobEdits(core);
    return {
      cancel: (ref, key) => jobs.cancel(ref, key),
      update: (ref, key, changes) => jobs.update(ref, key, changes),
    };
  },
};
