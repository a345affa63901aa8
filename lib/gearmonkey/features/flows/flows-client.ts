import type { FlowProgress } from '../../../job/flows.js';
import type { FunctionRef } from '../../../job/job-definition.js';
import { JobHandle } from '../../core/client/job-handle.js';
import type { JobStore } from '../../core/client/job-store.js';
import type { JobsToEnqueue } from '../../core/client/enqueue-middleware.js';
import { enqueued } from '../../core/client/new-jobs.js';
import type { ClientCore } from '../../core/feature.js';
import { planFlow, type FlowNode, type FlowRoot, type PlannedJob } from './flow-node.js';
import type { FlowMember, FlowsStore, NewFlow, NewFlowJob, WaitingFunctions } from './flow-store.js';
import { Flow } from './flow.js';
import { NewFlows } from './new-flows.js';
import { observeFlow } from './observe-flow.js';

/** The methods of a `GearMonkeyClient` that concern jobs that wait for each other. */
export class FlowsClient {
  readonly #core: ClientCore<JobStore & FlowsStore>;
  readonly #newFlows: NewFlows;

  /** @internal */
  constructor(core: ClientCore<JobStore & FlowsStore>) {
    this.#core = core;
    this.#newFlows = new NewFlows(core);
  }

  /**
   * Enqueues jobs that wait for each other, at once or not at all: `children` begin once their job has succeeded, and one object in
   * several lists waits for all of them. At most 100,000 jobs with 500,000 children in all. Of functions with a limit, a worker
   * gives each job its key when its turn has come.
   *
   * @throws FlowCycleError, FlowTooLargeError, and errors of inputs and options as `run`, before anything is written ·
   * UnknownParentError for `after` of the root · FlowSlotsError on a cluster · EnqueueTimeoutError
   */
  async flow<F extends FunctionRef>(root: FlowRoot<F>): Promise<Flow<F>> {
    const planned = planFlow(root as FlowNode);
    const { name, keys, jobs } = await this.#create(planned);
    const handles = keys.map(
      (key, number) =>
        new JobHandle(this.#core.reader, planned[number]?.node.job ?? '', jobs[number]?.fn ?? '', key),
    );
    const numbers = new Map(planned.map(({ node }, number) => [node.source, number]));
    const { functions, feeds, store } = this.#core;
    const fn = functions.nameOf(root.job);
    const read = (wanted: () => boolean) => store.flows.progress(fn, name, wanted);
    return new Flow(handles[0] as JobHandle<F>, handles, {
      observe: () => observeFlow(() => feeds.forObserver(fn), { fn, name, root: keys[0]?.id ?? '', read }),
      cancel: () => store.flows.cancel(fn, name),
      handleOf: (node) => handles[numbers.get(node) ?? -1],
    });
  }

  /** Passes the jobs through the app's middleware, which may change them, and creates them. */
  #create(planned: readonly PlannedJob[]): Promise<NewFlow & { readonly jobs: readonly NewFlowJob[] }> {
    const { functions, newJobs, store } = this.#core;
    const create = async (checked: readonly PlannedJob[]) => {
      const { jobs, after } = await this.#newFlows.prepare(checked);
      return { ...(await store.flows.create(jobs, after)), jobs };
    };
    if (!newJobs.hasMiddleware) return create(planned);
    const given = planned.map(({ node: { job, input, options = {} } }) => {
      return { fn: functions.nameOf(job), inputs: [input], options };
    });
    return newJobs.through(
      given,
      (changed) => create(planned.map((job, number) => changedNode(job, changed[number]))),
      ({ keys, jobs }) => keys.map((key, number) => enqueued(jobs[number]?.fn ?? '', key)),
    );
  }

  /** How far a flow of this function is; undefined if it is no longer kept. @internal */
  async flowProgress(fn: string, name: string): Promise<FlowProgress | undefined> {
    return this.#core.store.flows.progress(fn, name);
  }

  /** The functions of jobs that wait for this one. @internal */
  async waiting(fn: string, id: string): Promise<WaitingFunctions> {
    const { functions, store } = this.#core;
    const name = functions.nameOf(fn);
    return /^\d{1,15}$/.test(id) ? store.flows.waiting(name, id) : { functions: [], isWhole: true };
  }

  /** Some jobs of a flow of this function, from its job `from` on. @internal */
  async flowMembers(fn: string, name: string, from: number, most: number): Promise<readonly FlowMember[]> {
    return this.#core.store.flows.members(fn, name, from, most);
  }
}

function changedNode(planned: PlannedJob, changed: JobsToEnqueue | undefined): PlannedJob {
  if (!changed) return planned;
  const { inputs, options } = changed;
  return { ...planned, node: { ...planned.node, input: inputs[0] as never, options } };
}
