import type { Observable } from 'rxjs';
import type { FlowProgress } from '../../../job/flows.js';
import type { FunctionRef } from '../../../job/job-definition.js';
import { showAs } from '../../../job/show-as.js';
import type { FlowNode } from './flow-node.js';
import type { JobHandle } from '../../core/client/job-handle.js';

/** What a flow does with its server. */
export interface FlowAccess {
  observe(): Observable<FlowProgress>;
  cancel(): Promise<number>;
  handleOf(node: FlowNode): JobHandle | undefined;
}

/** Jobs that wait for each other. */
export class Flow<F extends FunctionRef = FunctionRef> {
  static {
    showAs(Flow, ({ root, jobs }) => ({ root: { fn: root.fn, id: root.id }, jobs: jobs.length }));
  }

  readonly #access: FlowAccess;
  /** The job that begins first. */
  readonly root: JobHandle<F>;
  /** All jobs, the root first, then those that wait for it, and so on. Jobs that running ones add are not among them. */
  readonly jobs: readonly JobHandle[];

  /** @internal */
  constructor(root: JobHandle<F>, jobs: readonly JobHandle[], access: FlowAccess) {
    this.root = root;
    this.jobs = jobs;
    this.#access = access;
  }

  /** Emits how far the flow is, now and after changes; completes when all its jobs have ended. Errors with JobNotFoundError. */
  get progress$(): Observable<FlowProgress> {
    return this.#access.observe();
  }

  /** The job of one of the objects that the flow was made of. */
  jobOf<N extends FunctionRef>(node: FlowNode<N>): JobHandle<N> | undefined {
    return this.#access.handleOf(node as FlowNode) as JobHandle<N> | undefined;
  }

  /**
   * Cancels all jobs that don't run: those that wait for others, in a queue, for a time, a retry or a signal. Those that run go
   * on, and what waits for them is cancelled at their end.
   *
   * @returns how many jobs this call has cancelled, without those whose reply was lost with a connection
   */
  cancel(): Promise<number> {
    return this.#access.cancel();
  }
}
