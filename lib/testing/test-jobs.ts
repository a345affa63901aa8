import { AssertionError } from 'node:assert';
import type { ClientOptions, GearMonkeyClient } from '../gearmonkey/client.js';
import type { KnownFunctions } from '../gearmonkey/core/client/known-functions.js';
import { checkWhole } from '../job/check-whole.js';
import { defined } from '../job/defined.js';
import { MAX_SPAN_MS, toMilliseconds, type Duration } from '../job/duration.js';
import type { Job } from '../job/job.js';
import { functionName, type FunctionRef, type InputOf, type OutputOf } from '../job/job-definition.js';
import { showAs } from '../job/show-as.js';
import { EnqueuedJobs, type JobToFind } from './enqueued-jobs.js';
import { checkExpected, type EnqueuedJob, type ExpectedJob } from './expected-job.js';
import type { Interventions } from './interventions.js';
import { keyOf, type JobRecords, type JobStep, type JobRecord } from './job-records.js';
import { Permit, type Drained } from './run-permits.js';
import type { TestBackend } from './test-backend.js';
import {
  checkAdvance,
  checkDrain,
  checkPerform,
  checkUntil,
  type AdvanceOptions,
  type DrainOptions,
  type PerformOptions,
  type UntilOptions,
} from './test-jobs.options.js';
import type { TestRun } from './test-run.js';
import type { TestSource } from './test-source.js';
import { JobTestingError, JobTestTimeoutError } from './testing-errors.js';
import { timeOf } from './testing-options.js';
import { randomUUID } from 'node:crypto';
import type { Placement } from '../gearmonkey/core/client/job-store.js';
import { placeLimited } from '../gearmonkey/features/limits/placed-limit.js';
import {
  placementOf as placedAt,
  type AddedOptions,
  type RunOptions,
} from '../gearmonkey/core/client/run-options.js';
import type { Changes } from './changes.js';
import { RealTime } from './real-time.js';

/** @internal */
export interface TestJobsParts {
  readonly instance: string;
  readonly run: TestRun;
  readonly source: TestSource;
  readonly backend: TestBackend;
  readonly records: JobRecords;
  readonly functions: KnownFunctions;
  readonly interventions: Interventions;
  /** The headers of the module. */
  readonly headers: ClientOptions['headers'];
  /** A client to read and cancel jobs. Instances with a `source` have one here, too. */
  readonly client: () => GearMonkeyClient;
}

/** Methods for tests of one instance's jobs: check enqueued jobs, run them, and move the clock. */
export class TestJobs {
  static {
    showAs(TestJobs, (jobs) => ({ instance: jobs.#parts.instance, now: jobs.now }));
  }

  readonly #parts: TestJobsParts;
  /** @internal For matchers. */
  readonly jobs: EnqueuedJobs;

  /** @internal */
  constructor(parts: TestJobsParts) {
    this.#parts = parts;
    this.jobs = new EnqueuedJobs(parts.records, parts.functions);
  }

  /** The time of the test's clock. */
  get now(): Date {
    return new Date(this.#parts.run.clock.now());
  }

  /**
   * The jobs of a function that the app has enqueued since the test began, oldest first, in whatever state they are now;
   * without a function, all. @throws ConfigurationError, InvalidOptionError
   */
  enqueued<F extends FunctionRef>(ref: F, expected?: ExpectedJob<InputOf<F>>): EnqueuedJob<InputOf<F>>[];
  enqueued(): EnqueuedJob[];
  enqueued(...args: [ref?: FunctionRef, expected?: ExpectedJob]): EnqueuedJob[] {
    const [ref, expected = {}] = args;
    // A definition from a circular import is undefined, which must not mean all functions.
    if (args.length > 0) functionName(ref as FunctionRef);
    return this.jobs.list(ref, checkExpected('enqueued', expected));
  }

  /** Asserts that such a job was enqueued. @throws AssertionError that shows what was enqueued instead */
  assert<F extends FunctionRef>(ref: F, expected: ExpectedJob<InputOf<F>> = {}): void {
    const message = this.jobs.missing(ref, checkExpected('assert', expected));
    if (message !== undefined) throw new AssertionError({ message, operator: 'assert' });
  }

  /** Asserts that no such job was enqueued. @throws AssertionError that shows matching jobs */
  refute<F extends FunctionRef>(ref: F, expected: ExpectedJob<InputOf<F>> = {}): void {
    const message = this.jobs.present(ref, checkExpected('refute', expected));
    if (message !== undefined) throw new AssertionError({ message, operator: 'refute' });
  }

  /**
   * Runs one job now, through schemas, guards, pipes, interceptors and filters, and returns it as `jobs.get` does. It has
   * the state `retrying` if it failed and will be retried; `errors` has the reason. No limit holds it back. It is not included in `enqueued`.
   *
   * @throws JobTestingError if the app has no handler for it · JobTestTimeoutError · as `GearMonkeyClient.run` for the input
   */
  async perform<F extends FunctionRef>(
    ref: F,
    input: InputOf<F>,
    options: PerformOptions = {},
  ): Promise<Job<InputOf<F>, OutputOf<F>>> {
    const { attempt, headers, timeout } = checkPerform(options);
    const { instance, run, source, backend, records, functions } = this.#parts;
    const fn = functionName(ref);
    run.require('perform');
    this.#requireHandler(fn);
    this.jobs.learn(ref);
    const payload = await functions.encode(ref, input);
    const added = { headers: this.#parts.headers?.(), now: run.clock.now() };
    const placement = placementOf(functions, ref, input, { options: defined({ headers }), added });
    const id = await source.prepare(async () => {
      const [key = { id: '' }] = await backend.store.enqueue(fn, [payload], placement);
      if (attempt > 1) await backend.setAttempts(fn, key, attempt - 1);
      const created = run.clock.now();
      records.add({ fn, id: key.id, payload, placement, created, performed: true });
      return key.id;
    });
    const permit = new Permit((of, name, job) => of === instance && name === fn && job === id);
    await run.runPermitted(permit, 'perform', timeout);
    return this.#parts.client().getOrThrow(ref, id);
  }

  /**
   * Runs the jobs that are due now, once each, and returns the counts of outcomes. With `scheduled` it also runs jobs that are
   * due later, including retries, until all have ended, and moves the clock for each. With `recursive` it also runs jobs that
   * these enqueue.
   *
   * @throws JobTestingError before the app has started · JobTestTimeoutError that names the running jobs
   */
  async drain(options: DrainOptions = {}): Promise<Drained> {
    const { scheduled, recursive, timeout } = checkDrain(options);
    const { instance, run, source } = this.#parts;
    run.require('drain');
    const those = new Set((await source.waiting()).map(({ fn, id }) => keyOf(fn, id)));
    const permit = new Permit((of, fn, id) => of === instance && (recursive || those.has(keyOf(fn, id))));
    return run.runPermitted(permit, 'drain', timeout, scheduled);
  }

  /**
   * Moves the clock forward for all instances of the app: runs jobs that are due now or become due, including retries and scheduled
   * jobs, each at its time, and applies timeouts.
   *
   * @throws JobTestingError, InvalidOptionError · JobTestTimeoutError, for example if jobs enqueue others without end
   */
  async advance(span: Duration, options: AdvanceOptions = {}): Promise<Drained> {
    const { run } = this.#parts;
    const ms = toMilliseconds('span', span, { least: 0, most: MAX_SPAN_MS });
    const timeout = checkAdvance('advance', options);
    run.require('advance');
    return run.advanceBy(ms, timeout);
  }

  /**
   * Sets the clock. A later time works as `advance`; with an earlier time nothing runs. @throws as `advance`
   */
  async setTime(date: Date, options: AdvanceOptions = {}): Promise<Drained> {
    const { run } = this.#parts;
    const time = timeOf('date', date);
    const timeout = checkAdvance('setTime', options);
    run.require('setTime');
    return run.setTime(time, timeout);
  }

  /**
   * Waits until a matching job reaches a step: `'enqueued'`, `'started'`, `'retried'`, `'done'` or `'failed'`. It
   * may have reached it before. This runs no jobs: in manual mode, run them with another method. @throws JobTestTimeoutError that says how far the jobs are
   */
  async until<F extends FunctionRef>(
    ref: F,
    expected: ExpectedJob<InputOf<F>>,
    step: JobStep,
    options: UntilOptions = {},
  ): Promise<Job<InputOf<F>, OutputOf<F>>> {
    const { run, client } = this.#parts;
    const timeout = checkUntil(step, options);
    checkExpected('until', expected);
    run.requireOpen('until');
    const { id } = await waitForStep(this.jobs, run, { ref, expected, step, timeout });
    return client().getOrThrow(ref, id);
  }

  /**
   * Makes the next runs of the function's handler throw this error, inside its guards, interceptors and filters.
   *
   * @throws JobTestingError if the app has no handler for it · InvalidOptionError
   */
  failNext(ref: FunctionRef, error: unknown, times = 1): void {
    const { run, interventions } = this.#parts;
    const fn = functionName(ref);
    checkWhole('times', times, 1);
    run.requireOpen('failNext');
    if (run.hasStarted) this.#requireHandler(fn);
    interventions.failNext(fn, error, times);
  }

  /**
   * Ends the lease of a job, as if its worker had not renewed it in time. Its signal aborts with LeaseLostError, its
   * outcome is refused, and it goes back to its queue. A job that is not running loses the lease when its handler begins.
   *
   * @throws JobTestingError if there is no such job, or if it has ended · InvalidOptionError
   */
  async loseLease(job: JobToFind): Promise<void> {
    const { run, source, interventions } = this.#parts;
    run.requireOpen('loseLease');
    const name = this.jobs.find(job);
    const lose = () => source.lose(name);
    if (source.handles(name)) await lose();
    else interventions.onNextRun(name, () => void lose());
  }

  /**
   * Cancels a job during a run: now if it runs, otherwise as soon as its handler has begun. Its signal aborts with
   * JobCancelledError. @throws as `loseLease`
   */
  async cancelDuring(job: JobToFind): Promise<void> {
    const { run, source, interventions, client } = this.#parts;
    run.requireOpen('cancelDuring');
    const name = this.jobs.find(job);
    const cancel = () => source.cancel(name, () => client().cancel(name.fn, name.id));
    if (source.handles(name)) await cancel();
    else interventions.onNextRun(name, () => void cancel());
  }

  /**
   * Forgets all jobs of this instance, and errors and cancellations that were set for them: waiting ones will not run, running
   * ones are cancelled. The clock is not changed. @throws JobTestingError after the app was closed
   */
  async clear(): Promise<void> {
    const { run, source, backend, records, interventions, client } = this.#parts;
    run.requireOpen('clear');
    for (const job of source.running()) await source.cancel(job, () => client().cancel(job.fn, job.id));
    for (const { fn, id } of [...records.all(), ...(await source.waiting())])
      await Promise.all([backend.discard(fn, id), backend.forgetUnique(fn)]);
    records.clear();
    interventions.clear();
  }

  #requireHandler(fn: string): void {
    const { source } = this.#parts;
    if (source.functions.includes(fn)) return;
    const known = source.functions.map((name) => `"${name}"`).join(', ') || 'none';
    throw new JobTestingError(
      `No handler runs "${fn}" in this app (known: ${known}). Add the class with @Worker('${fn}') to the providers of the ` +
        'testing module, or import the module that has it.',
    );
  }
}

/**
 * Where a job that a test performs is placed. With a limit it gets a key that no other job has, so it can run at once.
 *
 * @throws LimitKeyError if the function could not make its key · ConfigurationError, InvalidOptionError
 */
function placementOf(
  functions: KnownFunctions,
  ref: FunctionRef,
  input: unknown,
  { options, added }: { options: RunOptions; added: AddedOptions },
): Placement {
  const placement = placedAt(options, added);
  const limit = functions.setting(ref, 'limit');
  if (!limit) return placement;
  limit.keyOf(input);
  return placeLimited(placement, { ...limit, onFull: 'wait' }, [`perform:${randomUUID()}`]);
}

/** What is waited for. */
interface AwaitedStep {
  readonly ref: FunctionRef;
  readonly expected: ExpectedJob;
  readonly step: JobStep;
  /** Milliseconds of real time. */
  readonly timeout: number;
}

/** The first job that has come so far, now or before. @throws JobTestTimeoutError, JobTestingError */
async function waitForStep(
  jobs: EnqueuedJobs,
  { changes, hasClosed }: { readonly changes: Changes; readonly hasClosed: () => boolean },
  awaited: AwaitedStep,
): Promise<JobRecord> {
  const { ref, expected, step, timeout } = awaited;
  const time = new RealTime(timeout);
  try {
    for (;;) {
      const seen = changes.version;
      const found = jobs.recordsOf(ref, expected).find(({ steps }) => steps.includes(step));
      if (found) return found;
      if (hasClosed()) throw new JobTestingError(`The app was closed before a job was ${step}.`);
      if (time.isOver) throw late(jobs, awaited);
      await Promise.race([changes.since(seen), time.over]);
    }
  } finally {
    time.clear();
  }
}

function late(jobs: EnqueuedJobs, { ref, expected, step, timeout }: AwaitedStep): JobTestTimeoutError {
  const fn = functionName(ref);
  const states = jobs
    .recordsOf(ref, expected)
    .map(({ id, steps }) => `${fn} ${id} is ${steps.at(-1) ?? '?'}`);
  const seen = states.length > 0 ? states.join(', ') : jobs.missing(ref, expected);
  return new JobTestTimeoutError(
    `No job of "${fn}" was ${step} within ${timeout} ms: ${seen}. In manual mode jobs run while drain(), advance() or perform() does.`,
    timeout,
  );
}
