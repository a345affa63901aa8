import { KnownFunctions } from '../gearmonkey/core/client/known-functions.js';
import { GearMonkeyClient, type ClientOptions } from '../gearmonkey/client.js';
import type { GearMonkeyStore } from '../gearmonkey/features/index.js';
import type { Flow } from '../gearmonkey/features/flows/flow.js';
import { planFlow, type FlowRoot } from '../gearmonkey/features/flows/flow-node.js';
import type { JobHandle } from '../gearmonkey/core/client/job-handle.js';
import type { CallOptions, RunManyOptions, RunOptions } from '../gearmonkey/core/client/run-options.js';
import type { ScheduleOptions } from '../gearmonkey/features/schedules/recur-options.js';
import type { Schedule } from '../gearmonkey/features/schedules/schedule.js';
import type { AnyJobDefinition, FunctionRef, InputOf, OutputOf } from '../job/job-definition.js';
import type { TestJobs } from './test-jobs.js';

/**
 * The GearMonkeyClient of an app under test, with methods for tests in `module.get(GearMonkeyTestClient).test`. The app gets
 * this same object as its GearMonkeyClient.
 */
export class GearMonkeyTestClient extends GearMonkeyClient {
  readonly #functions: KnownFunctions;

  /** @internal */
  constructor(
    store: GearMonkeyStore,
    options: ClientOptions,
    functions: KnownFunctions,
    /** Methods for tests: enqueued jobs, running them, and the clock. */
    readonly test: TestJobs,
  ) {
    super(store, options, false, undefined, functions.handlers);
    this.#functions = functions;
  }

  override register(definition: AnyJobDefinition): boolean {
    this.#functions.register(definition);
    return super.register(definition);
  }

  /** @internal */
  override forget(definition: AnyJobDefinition): void {
    this.#functions.forget(definition);
    super.forget(definition);
  }

  override async run<F extends FunctionRef>(
    ref: F,
    input: InputOf<F>,
    options?: RunOptions<InputOf<F>>,
  ): Promise<JobHandle<F>> {
    this.test.jobs.learn(ref);
    return super.run(ref, input, options);
  }

  override async call<F extends FunctionRef>(
    ref: F,
    input: InputOf<F>,
    options?: CallOptions<InputOf<F>>,
  ): Promise<OutputOf<F>> {
    this.test.jobs.learn(ref);
    return super.call(ref, input, options);
  }

  override async recur<F extends FunctionRef>(
    ref: F,
    options: ScheduleOptions<InputOf<F>>,
  ): Promise<Schedule<InputOf<F>>> {
    this.test.jobs.learn(ref);
    return super.recur(ref, options);
  }

  override async flow<F extends FunctionRef>(root: FlowRoot<F>): Promise<Flow<F>> {
    for (const { node } of planFlow(root)) this.test.jobs.learn(node.job);
    return super.flow(root);
  }

  override async runMany<F extends FunctionRef>(
    ref: F,
    inputs: readonly InputOf<F>[],
    options?: RunManyOptions<InputOf<F>>,
  ): Promise<JobHandle<F>[]> {
    this.test.jobs.learn(ref);
    return super.runMany(ref, inputs, options);
  }
}
