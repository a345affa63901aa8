import { KnownFunctions } from '../gearmonkey/client/known-functions.js';
import { GearMonkeyClient, type ClientOptions } from '../gearmonkey/client/client.js';
import type { JobStore } from '../gearmonkey/client/job-store.js';
import type { AnyJobDefinition } from '../job/job-definition.js';
import type { TestJobs } from './test-jobs.js';

/**
 * The GearMonkeyClient of an app under test, with methods for tests in `module.get(GearMonkeyTestClient).test`. The app gets
 * this same object as its GearMonkeyClient.
 */
export class GearMonkeyTestClient extends GearMonkeyClient {
  readonly #functions: KnownFunctions;

  /** @internal */
  constructor(
    store: JobStore,
    options: ClientOptions,
    functions: KnownFunctions,
    /** Methods for tests: enqueued jobs, running them, and the clock. */
    readonly test: TestJobs,
  ) {
    super(store, options);
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
}
