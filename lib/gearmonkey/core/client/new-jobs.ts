import { systemClock } from '../../../job/clock.js';
import type { Payload } from '../../../job/codec.js';
import { InvalidOptionError, NoWorkersError } from '../../../job/errors.js';
import type { GivenHeaders } from '../../../job/headers.js';
import { instrumentation, tracedEnqueue, type EnqueueEvent } from '../../../job/instrumentation.js';
import type { FunctionRef } from '../../../job/job-definition.js';
import {
  enqueueThrough,
  type EnqueueMiddleware,
  type JobEnqueued,
  type JobsToEnqueue,
} from './enqueue-middleware.js';
import { allOf } from './enqueue-call.js';
import type { EnqueuedKey, JobStore, Placement } from './job-store.js';
import type { AwaitedKey } from './job-waiter.js';
import type { KnownFunctions } from './known-functions.js';
import {
  checkRun,
  checkRunMany,
  placementOf,
  type AddedOptions,
  type AnyRunOptions,
  type RunManyOptions,
} from './run-options.js';

/** Milliseconds after which a new job may expire, 0 if only the server knows; undefined if it never does. */
function spanUntilExpiry({ score, delay = 0, expires, expiresIn }: Placement): number | undefined {
  if (expiresIn === undefined) return expires === undefined ? undefined : 0;
  return score === undefined ? delay + expiresIn : 0;
}

/** Those that belong to the job, and not to its caller. */
function ofJob({ blocking: _blocking, timeout: _timeout, ...options }: AnyRunOptions): AnyRunOptions {
  return options;
}

/** Options that a hook may have changed. @throws ConfigurationError */
function checkJob(options: JobsToEnqueue['options']): AnyRunOptions {
  return ofJob(checkRun(options)[0]);
}

/** What hooks see of a job that was enqueued. */
export function enqueued(fn: string, { id, created }: EnqueuedKey): JobEnqueued {
  return { fn, id, created };
}

/** The place of a job of which nothing was said. */
const PLAIN: Placement = Object.freeze({ queue: 'normal' });

/** Jobs of a function that are enqueued with the same options. */
export interface RunOfJobs {
  readonly inputs: readonly unknown[];
  readonly options: RunManyOptions<never>;
}

/** What the app adds to each enqueue. */
interface AroundEnqueue {
  readonly headers?: () => GivenHeaders | undefined;
  readonly middleware?: readonly EnqueueMiddleware[];
}

/** A feature's way to create a job in place of the usual one. */
export interface EnqueueWay {
  /** Whether these options ask for it. */
  wants(options: AnyRunOptions): boolean;
  one(
    ref: FunctionRef,
    input: unknown,
    options: AnyRunOptions,
    fresh: Pick<AddedOptions, 'reply' | 'traced'>,
  ): Promise<AwaitedKey>;
}

/** What a feature has to say of where new jobs go. It is asked for each, so it does nothing for most. */
export interface PlaceHook {
  /** The options with what follows from the feature's own. @throws InvalidOptionError */
  options?(functions: KnownFunctions, ref: FunctionRef, options: AnyRunOptions): AnyRunOptions;

  /** The place with what it adds, such as keys. @throws InvalidOptionError, LimitKeyError, and what the user's functions throw */
  place(
    functions: KnownFunctions,
    ref: FunctionRef,
    placement: Placement,
    options: AnyRunOptions,
    inputs: readonly unknown[],
  ): Placement;
}

/** What features have to do with new jobs. */
export interface EnqueueWays {
  /** By the feature's name. */
  readonly placing: ReadonlyMap<string, PlaceHook>;
  readonly others: readonly EnqueueWay[];
}

/** Checks, encodes and enqueues jobs. */
export class NewJobs {
  private readonly headers: (() => GivenHeaders | undefined) | undefined;
  /** Only if one of it has to do with enqueueing. */
  private readonly middleware: readonly EnqueueMiddleware[] | undefined;

  constructor(
    private readonly store: JobStore,
    private readonly functions: KnownFunctions,
    { headers, middleware }: AroundEnqueue,
    private readonly ways: EnqueueWays,
  ) {
    this.headers = headers;
    this.middleware = middleware?.some((one) => one.aroundEnqueue) ? middleware : undefined;
  }

  /** Whether jobs have to go `through` it. */
  get hasMiddleware(): boolean {
    return this.middleware !== undefined;
  }

  /**
   * The short way of most jobs: without options, and of a function that has no schema and adds nothing. Undefined for
   * others.
   *
   * @param reply as of `one`
   */
  plain(ref: FunctionRef, input: unknown, reply?: string): Promise<[EnqueuedKey]> | undefined {
    if (this.headers || this.middleware || instrumentation.enqueue.hasSubscribers) return undefined;
    try {
      const job = this.functions.plain(ref, input);
      if (!job) return undefined;
      const [fn, payload] = job;
      const placement = reply === undefined ? PLAIN : { ...PLAIN, options: JSON.stringify({ reply }) };
      return this.store.enqueue(fn, [payload], placement) as Promise<[EnqueuedKey]>;
    } catch (error) {
      return Promise.reject(error as Error);
    }
  }

  /** @param reply the client that the output is sent to */
  async one(ref: FunctionRef, input: unknown, options: AnyRunOptions, reply?: string): Promise<AwaitedKey> {
    if (!this.middleware) return this.traceOne(ref, input, options, reply);
    const job = { fn: this.functions.nameOf(ref), inputs: [input], options: ofJob(options) };
    return this.through(
      [job],
      ([changed = job]) => this.traceOne(ref, changed.inputs[0], checkJob(changed.options), reply),
      (key) => [enqueued(job.fn, key)],
    );
  }

  private async traceOne(
    ref: FunctionRef,
    input: unknown,
    options: AnyRunOptions,
    reply?: string,
  ): Promise<AwaitedKey> {
    if (!instrumentation.enqueue.hasSubscribers) return this.makeOne(ref, input, options, reply);
    const headers = {};
    return tracedEnqueue(
      this.event(ref, 1, headers),
      () => this.makeOne(ref, input, options, reply, headers),
      ({ id }) => [id],
    );
  }

  /** Jobs whose options are those of their run. If one input or option is invalid, none is enqueued. */
  async many(ref: FunctionRef, runs: readonly RunOfJobs[]): Promise<EnqueuedKey[]> {
    if (!this.middleware || runs.some(({ inputs }) => !Array.isArray(inputs)))
      return this.traceMany(ref, runs);
    const fn = this.functions.nameOf(ref);
    const given = runs.map(({ inputs, options }) => {
      return { fn, inputs: [...inputs], options: checkRunMany(options) };
    });
    return this.through(
      given,
      (changed) => this.traceMany(ref, changed),
      (keys) => keys.map((key) => enqueued(fn, key)),
    );
  }

  private async traceMany(ref: FunctionRef, runs: readonly RunOfJobs[]): Promise<EnqueuedKey[]> {
    if (!instrumentation.enqueue.hasSubscribers) return this.makeMany(ref, runs);
    const headers = {};
    const count = runs.reduce((sum, { inputs }) => sum + (Array.isArray(inputs) ? inputs.length : 0), 0);
    return tracedEnqueue(
      this.event(ref, count, headers),
      () => this.makeMany(ref, runs, headers),
      (keys) => keys.map(({ id }) => id),
    );
  }

  /** Where jobs go, with what features add. */
  place(
    ref: FunctionRef,
    placement: Placement,
    options: AnyRunOptions,
    inputs: readonly unknown[],
    hooks: Iterable<PlaceHook> = this.ways.placing.values(),
  ): Placement {
    let placed = placement;
    for (const hook of hooks) placed = hook.place(this.functions, ref, placed, options, inputs);
    return placed;
  }

  /** The same with what one feature adds, if there is that. */
  placeBy(feature: string, ...job: [FunctionRef, Placement, AnyRunOptions, readonly unknown[]]): Placement {
    const hook = this.ways.placing.get(feature);
    return this.place(...job, hook ? [hook] : []);
  }

  private withFeatures(ref: FunctionRef, options: AnyRunOptions): AnyRunOptions {
    let changed = options;
    for (const hook of this.ways.placing.values())
      changed = hook.options?.(this.functions, ref, changed) ?? changed;
    return changed;
  }

  private event(ref: FunctionRef, count: number, headers: Record<string, string>): EnqueueEvent {
    const { system, address } = this.store;
    return { system, server: address, fn: this.functions.nameOf(ref), count, headers };
  }

  private async makeOne(
    ref: FunctionRef,
    input: unknown,
    options: AnyRunOptions,
    reply?: string,
    traced?: GivenHeaders,
  ): Promise<AwaitedKey> {
    for (const way of this.ways.others)
      if (way.wants(options)) return way.one(ref, input, options, { reply, traced });
    const placement = placementOf(this.withFeatures(ref, options), { ...this.added(ref), traced, reply });
    const encoded = this.functions.encode(ref, input);
    const payload = encoded instanceof Promise ? await encoded : encoded;
    // A schema has checked the input that the key is made from.
    const placed = this.place(ref, placement, options, [input]);
    if (options.rollCall) await this.requireWorkers(ref);
    const [key] = (await this.store.enqueue(this.functions.nameOf(ref), [payload], placed)) as [EnqueuedKey];
    const expiresIn = spanUntilExpiry(placement);
    return expiresIn === undefined || !key.created ? key : { ...key, expiresIn };
  }

  /** Passes jobs through the app's middleware. @throws what its hooks throw */
  async through<Made>(
    jobs: readonly JobsToEnqueue[],
    make: (changed: readonly JobsToEnqueue[]) => Promise<Made>,
    keysOf: (made: Made) => JobEnqueued[],
  ): Promise<Made> {
    let made: Made | undefined;
    await enqueueThrough(this.middleware ?? [], jobs, async (changed) =>
      keysOf((made = await make(changed))),
    );
    return made as Made;
  }

  private async makeMany(
    ref: FunctionRef,
    runs: readonly RunOfJobs[],
    traced?: GivenHeaders,
  ): Promise<EnqueuedKey[]> {
    const fn = this.functions.nameOf(ref);
    const ready: { readonly payloads: Payload[]; readonly placed: Placement }[] = [];
    // All are checked and encoded before the first is sent.
    for (const { inputs, options: given } of runs) {
      const options = checkRunMany(given);
      const placement = placementOf(this.withFeatures(ref, options), { ...this.added(ref), traced });
      if (!Array.isArray(inputs)) throw new InvalidOptionError('inputs', inputs, 'a list');
      const payloads: Payload[] = [];
      for (const input of inputs as readonly unknown[]) {
        const payload = this.functions.encode(ref, input);
        payloads.push(payload instanceof Promise ? await payload : payload);
      }
      const placed = this.place(ref, placement, options, inputs);
      if (options.rollCall) await this.requireWorkers(ref);
      if (payloads.length > 0) ready.push({ payloads, placed });
    }
    const calls = ready.map(({ payloads, placed }) => this.store.enqueue(fn, payloads, placed));
    const asked = ready.reduce((sum, { payloads }) => sum + payloads.length, 0);
    return calls.length === 1 ? (calls[0] as Promise<EnqueuedKey[]>) : allOf(fn, calls, asked);
  }

  /** How many workers are registered. @throws NoWorkersError if there is none */
  async requireWorkers(ref: FunctionRef): Promise<number> {
    const fn = this.functions.nameOf(ref);
    const stored = await this.store.count(fn);
    if (stored === undefined || !/^\d+$/.test(stored) || Number(stored) < 1) throw new NoWorkersError(fn);
    return Number(stored);
  }

  /** What the module and the definition add to a job's options. */
  added(ref: FunctionRef): AddedOptions {
    const now = (this.store.clock ?? systemClock).now();
    return { headers: this.headers?.(), expires: this.functions.setting(ref, 'expires'), now };
  }
}
