import { KnownFunctions } from '../gearmonkey/client/known-functions.js';
import { GearMonkeyClient, type ClientOptions } from '../gearmonkey/client/client.js';
import type { JobStore } from '../gearmonkey/client/job-store.js';
import type { AnyJobDefinition } from '../job/job-definition.js';
import type { TestJobs } from './test-jobs.js';

/**
 * The GearMonkeyClient of an app under test, with what tests need: `module.get(GearMonkeyTestClient).test`. It is the object
 * that the app gets as its GearMonkeyClient.
 */
export class GearMonkeyTestClient extends GearMonkeyClient {
  readonly #functions: KnownFunctions;

  /** @internal */
  constructor(
    store: JobStore,
    options: ClientOptions,
    functions: KnownFunctions,
    /** What was enqueued, what runs, and what time it is. */
    readonly test: TestJobs,
  ) {
    super(store, options);
    this.#functions = functions;
  }

  override register(definition: AnyJobDefinition): void {
    super.register(definition);
    this.#functions.register(definition);
  }
}
