import { defineJob } from '../../lib/index.js';

export type Kind = 'plain' | 'flaky' | 'steps' | 'hangs' | 'waits';

/** Of a round in the short form. */
export const ROUND_TICKS = 10;
/** A tick enqueues one of the rarest kind. */
export const TICK_JOBS = 12;

/** Three attempts; a run may take half a second unless the job says otherwise. */
export const soak = defineJob<{ kind: Kind; text: string }, string>('soak', {
  retry: { attempts: 3, backoff: 'fixed', delay: 100 },
  timeout: 500,
});
