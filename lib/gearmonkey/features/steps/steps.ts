import { messageOf } from '../../../job/errors.js';
import type { JobStore } from '../../core/client/job-store.js';
import type { Feature } from '../../core/feature.js';
import { RedisSteps } from './redis-steps.js';

/** What jobs keep of their steps, and of what they wait for, from one attempt to the next. */
export const steps: Feature<JobStore> = {
  name: 'steps',
  source: ({ connections, keysOf, problems }) => ({
    steps: new RedisSteps(connections.commands, keysOf, undefined, (fn, error) =>
      problems.report(`steps ${fn}`, `What jobs of "${fn}" record waits: ${messageOf(error)}`),
    ),
  }),
};
