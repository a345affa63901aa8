import { checkPriority } from '../../../job/check-limit.js';
import { ConfigurationError, InvalidOptionError } from '../../../job/errors.js';
import { MAX_AFTER, ON_PARENT_ERROR, type OnParentError } from '../../../job/flows.js';
import type { FunctionRef } from '../../../job/job-definition.js';
import { checkOptions, optionNames } from '../../../job/known-options.js';
import { RunningJob } from '../../../worker/running-job.js';
import { markOf } from '../../core/wire/protocol.js';
import type { FlowJobOptions, FlowNode, PlannedJob } from './flow-node.js';
import type { FlowsStore, JobOf, LaterJob, NewFlowJob } from './flow-store.js';
import { JobHandle } from '../../core/client/job-handle.js';
import type { EnqueuedKey, JobStore } from '../../core/client/job-store.js';
import type { ClientCore } from '../../core/feature.js';
import {
  placementOf,
  type AddedOptions,
  type AnyRunOptions,
  type JobRef,
} from '../../core/client/run-options.js';

const OPTIONS = optionNames<Required<FlowJobOptions>>({
  priority: true,
  scheduled: true,
  delay: true,
  retry: true,
  jobTimeout: true,
  headers: true,
  tags: true,
  expires: true,
  onParentError: true,
});
const ROOT_OPTIONS = new Set([...OPTIONS, 'after']);

/** Checks and encodes jobs that wait for others. */
export class NewFlows {
  constructor(private readonly core: ClientCore<JobStore & FlowsStore>) {}

  /** Creates a job that waits for others. @throws as `run` · UnknownParentError */
  async one(
    ref: FunctionRef,
    input: unknown,
    options: AnyRunOptions,
    fresh: Pick<AddedOptions, 'traced' | 'reply'>,
  ): Promise<EnqueuedKey> {
    const after = this.parentsOf(options.after);
    if (options.unique) throw new InvalidOptionError('unique', options.unique, 'absent with `after`');
    const job = this.later(ref, options, fresh);
    const payload = await this.core.functions.encode(ref, input);
    return this.core.store.flows.add({ ...job, input: payload }, after);
  }

  /** The jobs of a flow, and what its root waits for. Nothing is written. */
  async prepare(planned: readonly PlannedJob[]): Promise<{ jobs: NewFlowJob[]; after: JobOf[] }> {
    const jobs: NewFlowJob[] = [];
    let after: JobOf[] = [];
    for (const [number, { node, parents, children }] of planned.entries()) {
      const options = optionsOf(node, number === 0);
      if (number === 0 && options.after !== undefined) after = this.parentsOf(options.after);
      const job = this.later(node.job, options, {});
      const encoded = this.core.functions.encode(node.job, node.input);
      const input = encoded instanceof Promise ? await encoded : encoded;
      jobs.push({ ...job, input, parents, children });
    }
    return { jobs, after };
  }

  private later(
    ref: FunctionRef,
    options: AnyRunOptions,
    fresh: Pick<AddedOptions, 'traced' | 'reply'>,
  ): Omit<LaterJob, 'input'> {
    const fn = this.core.functions.nameOf(ref);
    const placed = placementOf(options, { ...this.core.newJobs.added(ref), ...fresh });
    const { queue, score, delay, expiresIn } = placed;
    this.checkRules(ref, fn, queue, options);
    return {
      fn,
      options: placed.options ?? '',
      place: { queue, score, delay, expires: expiresIn },
      onParentError: policyOf(options.onParentError),
    };
  }

  /** What jobs that wait for others can't have. */
  private checkRules(
    ref: FunctionRef,
    fn: string,
    queue: LaterJob['place']['queue'],
    { unique }: AnyRunOptions,
  ) {
    const limit = this.core.functions.setting(ref, 'limit');
    if (limit) checkPriority(limit, queue);
    if (limit && limit.onFull !== 'wait')
      throw new ConfigurationError(
        `A job of "${fn}" can't wait for others: its limit says onFull: '${limit.onFull}', which is decided when a job is ` +
          "enqueued. Use a function with onFull: 'wait'.",
      );
    if (unique !== false && this.core.functions.setting(ref, 'unique'))
      throw new ConfigurationError(
        `A job of "${fn}" can't wait for others: its definition has \`unique\`. With \`after\`, pass unique: false; for a flow, use ` +
          'a definition without it.',
      );
  }

  private parentsOf(after: unknown): JobOf[] {
    if (!Array.isArray(after) || after.length === 0)
      throw new InvalidOptionError('after', after, 'a list of jobs, such as handles of `run`');
    if (after.length > MAX_AFTER)
      throw new InvalidOptionError(
        'after',
        after.length,
        `a list of at most ${MAX_AFTER} jobs; \`flow\` takes more`,
      );
    return after.map((job: unknown) => this.parentOf(job));
  }

  private parentOf(given: unknown): JobOf {
    const key = keyOf(given);
    if (key && /^\d{1,15}$/.test(key.id)) return { ...key, fn: this.core.functions.nameOf(key.fn) };
    throw new InvalidOptionError('after', given, 'a list of handles, running jobs or { fn, id }');
  }
}

/** A handle and a running job know their mark, which tells them from another job that gets the same id. */
function keyOf(given: unknown): JobOf | undefined {
  if (given instanceof JobHandle) return { fn: given.fn, ...JobHandle.keyOf(given) };
  if (given instanceof RunningJob) return { fn: given.fn, id: given.id, mark: markOf(given.claim.token) };
  if (typeof given !== 'object' || given === null) return undefined;
  const { fn, id } = given as Partial<JobRef>;
  return typeof fn === 'string' && (typeof id === 'string' || typeof id === 'number')
    ? { fn, id: String(id) }
    : undefined;
}

function optionsOf({ options = {} }: FlowNode, isRoot: boolean): AnyRunOptions {
  return checkOptions<AnyRunOptions>('a job of a flow', options, isRoot ? ROOT_OPTIONS : OPTIONS);
}

function policyOf(policy: unknown = 'fail'): OnParentError {
  if (!ON_PARENT_ERROR.has(policy))
    throw new InvalidOptionError('onParentError', policy, "'fail', 'run' or 'cancel'");
  return policy as OnParentError;
}
