import type { Feature } from '../../core/feature.js';
import type { EditsStore } from './edit-store.js';
import { EditsClient } from './edits-client.js';
import { JobEdits } from './job-edits.js';
import { RedisEdits } from './redis-edits.js';

/** Changes of jobs that there are, and of functions: update, cancel, drain, pause. */
export const edits: Feature<EditsStore> = {
  name: 'edits',
  store: (server) => new RedisEdits(server),
  client: EditsClient,
  handle: (core) => {
    const jobs = new JobEdits(core);
    return {
      cancel: (ref, key, options) => jobs.cancel(ref, key, options),
      update: (ref, key, changes) => jobs.update(ref, key, changes),
    };
  },
};
