import { systemClock } from '../../job/clock.js';
import type { Payload } from '../../job/codec.js';
import { InvalidOptionError, NoWorkersError } from '../../job/errors.js';
import type { GivenHeaders } from '../../job/headers.js';
import type { FunctionRef } from '../../job/job-definition.js';
import type { Unique } from '../../job/unique.js';
import type { EnqueuedKey, JobStore, Placement } from './job-store.js';
import type { AwaitedKey } from './job-waiter.js';
import type { KnownFunctions } from './known-functions.js';
import {
  checkRunMany,
  placementOf,
  uniqueOf,
  type AddedOptions,
  type AnyRunOptions,
  type RunManyOptions,
} from './run-options.js';

/** Checks, encodes and enqueues jobs. */
export class NewJobs {
  constructor(
    private readonly store: JobStore,
    private readonly functions: KnownFunctions,
    private readonly headers: (() => GivenHeaders | undefined) | undefined,
  ) {}

  /** @param reply the client that the output is sent to */
  async one(ref: FunctionRef, input: unknown, options: AnyRunOptions, reply?: string): Promise<AwaitedKey> {
    const unique = uniqueOf(options, this.functions.uniqueOf(ref));
    const placement = placementOf(options, { ...this.added(ref), reply, unique: unique?.rule });
    const encoded = this.functions.encode(ref, input);
    const payload = encoded instanceof Promise ? await encoded : encoded;
    // A schema has checked the input that the key is made from.
    const placed = withKeys(placement, unique, [input]);
    if (options.rollCall) await this.requireWorkers(ref);
    const [key] = (await this.store.enqueue(this.functions.nameOf(ref), [payload], placed)) as [EnqueuedKey];
    const { expires } = placement;
    return expires === undefined || !key.created ? key : { ...key, expires };
  }

  /** If one input is invalid, none is enqueued. */
  async many(
    ref: FunctionRef,
    inputs: readonly unknown[],
    options: RunManyOptions<never>,
  ): Promise<EnqueuedKey[]> {
    checkRunMany(options);
    const unique = uniqueOf(options, this.functions.uniqueOf(ref));
    const placement = placementOf(options, { ...this.added(ref), unique: unique?.rule });
    if (!Array.isArray(inputs)) throw new InvalidOptionError('inputs', inputs, 'a list');
    const payloads: Payload[] = [];
    for (const input of inputs as readonly unknown[]) {
      const payload = this.functions.encode(ref, input);
      payloads.push(payload instanceof Promise ? await payload : payload);
    }
    const placed = withKeys(placement, unique, inputs);
    if (options.rollCall) await this.requireWorkers(ref);
    return payloads.length === 0 ? [] : this.store.enqueue(this.functions.nameOf(ref), payloads, placed);
  }

  /** How many workers are registered. @throws NoWorkersError if there is none */
  async requireWorkers(ref: FunctionRef): Promise<number> {
    const fn = this.functions.nameOf(ref);
    const stored = await this.store.count(fn);
    if (stored === undefined || !/^\d+$/.test(stored) || Number(stored) < 1) throw new NoWorkersError(fn);
    return Number(stored);
  }

  /** What the module and the definition add to a job's options. */
  private added(ref: FunctionRef): AddedOptions {
    const now = (this.store.clock ?? systemClock).now();
    return { headers: this.headers?.(), expires: this.functions.expiresOf(ref), now };
  }
}

/** Adds the unique keys of jobs with these inputs. @throws InvalidOptionError, and what the user's function throws */
function withKeys(placement: Placement, unique: Unique | undefined, inputs: readonly unknown[]): Placement {
  if (!unique) return placement;
  return { ...placement, unique: { rule: unique.rule, keys: inputs.map((input) => unique.keyOf(input)) } };
}
