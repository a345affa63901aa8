import { InvalidOptionError, messageOf } from '../../../job/errors.js';
import type { Feature } from '../../core/feature.js';
import type { FlowsStore } from './flow-store.js';
import { FlowSettler } from './flow-settler.js';
import { FlowsClient } from './flows-client.js';
import { NewFlows } from './new-flows.js';
import { RedisFlows } from './redis-flows.js';
import { RedisParents } from './redis-parents.js';

/** Jobs that wait for others: `after` of `run`, and `flow`. */
export const flows: Feature<FlowsStore> = {
  name: 'flows',
  store: (server) => {
    const store = new RedisFlows(server);
    server.hooks.onAwaited((fn) => store.settleSoon(fn));
    return store;
  },
  client: FlowsClient,
  source: ({ connections, keysOf, problems }) => {
    const settler = new FlowSettler(connections.commands, keysOf, problems);
    return {
      duties: [settler],
      onAwaited: (fn) => settler.settle(fn),
      parents: new RedisParents(connections.commands, keysOf, '', (fn, error) =>
        problems.report(
          `parents ${fn}`,
          `Jobs of "${fn}" wait to read what they waited for: ${messageOf(error)}`,
        ),
      ),
    };
  },
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
