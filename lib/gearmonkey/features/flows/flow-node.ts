import { FlowCycleError, FlowTooLargeError } from '../../../job/flow-errors.js';
import { MAX_FLOW_EDGES, MAX_FLOW_JOBS } from '../../../job/flows.js';
import { ConfigurationError, InvalidOptionError } from '../../../job/errors.js';
import { functionName, type FunctionRef, type InputOf } from '../../../job/job-definition.js';
import { checkOptions, optionNames } from '../../../job/known-options.js';
import type { RunOptions } from '../../core/client/run-options.js';

/** Options of a job of a flow: those of `run`, except for those of its caller. `delay` and spans count from when it may run. */
export type FlowJobOptions = Omit<RunOptions, 'after' | 'blocking' | 'rollCall' | 'timeout' | 'unique'>;

/** A job of a flow, and the jobs that wait for it. */
export interface FlowNode<F extends FunctionRef = FunctionRef> {
  /** Its definition, or the name of its function. */
  job: F;
  input: InputOf<F>;
  options?: FlowJobOptions;
  /** The jobs that begin once this one has succeeded. A job in several of these lists waits for all of them. */
  children?: readonly FlowNode[];
}

/** The first job of a flow, which may wait for jobs that there are. */
export interface FlowRoot<F extends FunctionRef = FunctionRef> extends FlowNode<F> {
  options?: FlowJobOptions & Pick<RunOptions, 'after'>;
}

const NODE = optionNames<Required<FlowNode>>({ job: true, input: true, options: true, children: true });

/** A job of a flow with its place among the others. */
export interface PlannedJob {
  readonly node: FlowNode & {
    /** The object that it was made of. */
    readonly source: unknown;
  };
  /** Those that it waits for, by their numbers. */
  readonly parents: number[];
  /** Those that wait for it. */
  readonly children: number[];
}

/**
 * Lists the jobs of a flow, the root first. Each object is one job, in however many lists it is. No recursion: a flow may be a
 * chain of all its jobs.
 *
 * @throws ConfigurationError, InvalidOptionError, InvalidFunctionNameError, FlowTooLargeError, FlowCycleError
 */
export function planFlow(root: FlowNode): PlannedJob[] {
  const numbers = new Map<unknown, number>();
  const jobs: PlannedJob[] = [];
  const lists: (readonly unknown[])[] = [];
  let edges = 0;
  const add = (given: unknown): number => {
    const known = numbers.get(given);
    if (known !== undefined) return known;
    if (jobs.length === MAX_FLOW_JOBS) throw new FlowTooLargeError('jobs', MAX_FLOW_JOBS);
    const { children, ...node } = checkNode(given);
    numbers.set(given, jobs.length);
    lists.push(children);
    return jobs.push({ node: { ...node, source: given }, parents: [], children: [] }) - 1;
  };
  add(root);
  for (const [number, job] of jobs.entries()) {
    for (const child of new Set(lists[number])) {
      edges += 1;
      if (edges > MAX_FLOW_EDGES) throw new FlowTooLargeError('children', MAX_FLOW_EDGES);
      const at = add(child);
      job.children.push(at);
      jobs[at]?.parents.push(number);
    }
  }
  refuseCircle(jobs);
  return jobs;
}

function checkNode(given: unknown): FlowNode & { readonly children: readonly unknown[] } {
  const { job, input, options, children } = checkOptions('a job of a flow', given as FlowNode, NODE);
  functionName(job);
  if (children !== undefined && !Array.isArray(children))
    throw new InvalidOptionError('children', children, 'a list of jobs of the flow');
  if (children !== undefined && children.length > MAX_FLOW_EDGES)
    throw new FlowTooLargeError('children', MAX_FLOW_EDGES);
  if (options !== undefined && (typeof options !== 'object' || options === null))
    throw new ConfigurationError('The `options` of a job of a flow are not an object.');
  return { job, input, ...(options && { options }), children: children ?? [] };
}

/** Removes jobs that wait for none, one after the other: those of a circle, and behind it, are left. */
function refuseCircle(jobs: readonly PlannedJob[]): void {
  const waits = jobs.map(({ parents }) => parents.length);
  const free = waits.flatMap((count, number) => (count === 0 ? [number] : []));
  for (const number of free) {
    for (const child of jobs[number]?.children ?? []) {
      waits[child] = (waits[child] ?? 0) - 1;
      if (waits[child] === 0) free.push(child);
    }
  }
  if (free.length < jobs.length) throw new FlowCycleError(circleIn(jobs, new Set(free)));
}

/** From any job that is left up through parents that are left, until one comes again. */
function circleIn(jobs: readonly PlannedJob[], free: ReadonlySet<number>): string[] {
  const path: number[] = [];
  const seen = new Map<number, number>();
  let at = jobs.findIndex((_, number) => !free.has(number));
  while (!seen.has(at)) {
    seen.set(at, path.push(at) - 1);
    at = jobs[at]?.parents.find((parent) => !free.has(parent)) ?? at;
  }
  const circle = [...path.slice(seen.get(at)), at].toReversed();
  return circle.map((number) => functionName(jobs[number]?.node.job as FunctionRef));
}
