import { defineJob } from '../../lib/index.js';

export type Kind = 'plain' | 'flaky' | 'steps' | 'hangs' | 'waits';

/** Three attempts; a run may take half a second unless the job says otherwise. */
export const soak = defineJob<{ kind: Kind; text: string }, string>('soak', {
  retry: { attempts: 3, backoff: 'fixed', delay: 100 },
  timeout: 500,
});
