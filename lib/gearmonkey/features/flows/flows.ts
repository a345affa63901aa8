import { InvalidOptionError } from '../../../job/errors.js';
import type { JobStore } from '../../core/client/job-store.js';
import type { Feature } from '../../core/feature.js';
import type { FlowsStore } from './flow-store.js';
import { FlowsClient } from './flows-client.js';
import { NewFlows } from './new-flows.js';

/** Jobs that wait for others: `after` of `run`, and `flow`. */
export const flows: Feature<JobStore & FlowsStore> = {
  name: 'flows',
  client: FlowsClient,
  enqueue: (core) => {
    const newFlows = new NewFlows(core);
    return {
      wants: ({ after, onParentError }) => after !== undefined || onParentError !== undefined,
      one: async (ref, input, options, fresh) => {
        if (options.after === undefined)
          throw new InvalidOptionError('onParentError', options.onParentError, 'absent without `after`');
        if (options.rollCall) await core.newJobs.requireWorkers(ref);
        return { ...(await newFlows.one(ref, input, options, fresh)), isLater: true };
      },
    };
  },
};
