import { JOB_SETTINGS } from '../gearmonkey/features/index.js';
import type { OnApplicationBootstrap, OnModuleDestroy, OnModuleInit } from '@nestjs/common';
import { KnownFunctions, maxPayloadBytesOf } from '../gearmonkey/core/client/known-functions.js';
import type { Backend } from '../nest/gearmonkey.instance.js';
import { ConfigurationError } from '../job/errors.js';
import { isForSource } from '../nest/check-options.js';
import type { GearMonkeyModuleOptions } from '../nest/gearmonkey.options.js';
import { FlowEnds } from './flow-ends.js';
import { Interventions } from './interventions.js';
import { JobRecords } from './job-records.js';
import { RecordingStore } from './recording-store.js';
import { TestBackend } from './test-backend.js';
import { GearMonkeyTestClient } from './test-client.js';
import { TestJobs } from './test-jobs.js';
import { TestRun } from './test-run.js';
import { TestSource } from './test-source.js';
import { JobTestingError } from './testing-errors.js';
import { checkTesting, type TestingOptions } from './testing-options.js';

/** The module's default. */
const MAX_STALLS = 3;
/** Jobs that still run when a test closes its app wait for something that will never happen. */
const SHUTDOWN_MS = 250;

/** The instances of an app under test. Each has its own server, and they share one clock. */
export class TestInstances implements OnModuleInit, OnApplicationBootstrap, OnModuleDestroy {
  private readonly run: TestRun;
  private readonly servers: TestBackend[] = [];
  private readonly jobs = new Map<string, TestJobs>();

  /** @throws ConfigurationError, InvalidOptionError */
  constructor(options: TestingOptions) {
    this.run = new TestRun(checkTesting(options));
  }

  /** @throws JobTestingError if the Redis of the test can't be reached */
  async onModuleInit(): Promise<void> {
    await this.run.begin();
    await Promise.all(this.servers.map((server) => server.reach()));
  }

  onApplicationBootstrap(): void {
    this.run.started();
  }

  /** Checks the server of an app without workers. In other apps their sources do this. */
  onModuleDestroy(): void {
    this.run.close();
  }

  /** @throws JobTestingError */
  get(instance: string): TestJobs {
    const found = this.jobs.get(instance);
    if (found) return found;
    if (this.jobs.size === 0)
      throw new JobTestingError(
        'This app has no instance: it imports no GearMonkeyModule. Override the module that imports GearMonkeyModule.forRoot().',
      );
    const known = [...this.jobs.keys()].map((name) => `"${name}"`).join(', ');
    throw new JobTestingError(`There is no instance "${instance}" in this test (known: ${known}).`);
  }

  /** Makes the backend that replaces the server of the app's options. */
  readonly backendOf = (instance: string, options: GearMonkeyModuleOptions): Backend => {
    if (this.jobs.has(instance))
      throw new ConfigurationError(
        `There are two instances "${instance}" in this test. If the app imports GearMonkeyModule.forRoot() itself, use ` +
          'GearMonkeyTestingModule.override(AppModule) instead of forRoot().',
      );
    const { run } = this;
    const { clock, permits, changes } = run;
    const records = new JobRecords(changes.tell);
    const backend = this.serverOf(options);
    this.servers.push(backend);
    const interventions = new Interventions();
    const client = options.source?.client;
    const onClose = () => run.close();
    const ends = new FlowEnds(backend.store, records, (job) => source.noteEnd(job));
    const { recurring } = run.options;
    const shared = { instance, clock, backend, records, permits, changes, recurring };
    const source = new TestSource({ ...shared, ends, client, onClose });
    const onEnded = (fn: string, id: string) => source.ended({ fn, id });
    const store = new RecordingStore(backend.store, clock, records, ends, onEnded, () => backend.close());
    const functions = new KnownFunctions(options, false, JOB_SETTINGS);
    const test = new TestJobs({
      instance,
      run,
      source,
      backend,
      records,
      functions,
      interventions,
      headers: isForSource(options) ? undefined : options.headers,
      client: (): GearMonkeyTestClient => made,
    });
    const made = new GearMonkeyTestClient(store, options, functions, test);
    run.add(instance, source);
    this.jobs.set(instance, test);
    return {
      // An instance without a client gets none here either, so that tests show such mistakes.
      client: isForSource(options) ? undefined : made,
      source,
      beforeRun: (job) => {
        source.begin(job);
        interventions.beforeRun(job);
      },
      shutdownTimeout: SHUTDOWN_MS,
      close: () => made.close(),
    };
  };

  private serverOf(options: GearMonkeyModuleOptions): TestBackend {
    const { clock, options: testing } = this.run;
    const { maxStalls = MAX_STALLS } = options;
    return new TestBackend(testing.redis, { clock, maxStalls, maxPayloadBytes: maxPayloadBytesOf(options) });
  }
}
