import { systemClock } from '../../job/clock.js';
import type { Payload } from '../../job/codec.js';
import { InvalidOptionError, NoWorkersError } from '../../job/errors.js';
import type { GivenHeaders } from '../../job/headers.js';
import type { FunctionRef } from '../../job/job-definition.js';
import type { JobKey } from '../wire/protocol.js';
import type { JobStore } from './job-store.js';
import type { EnqueuedKey } from './job-waiter.js';
import type { KnownFunctions } from './known-functions.js';
import {
  placementOf,
  placementOfMany,
  type AddedOptions,
  type RunManyOptions,
  type RunOptions,
} from './run-options.js';

/** Checks, encodes and enqueues jobs. */
export class NewJobs {
  constructor(
    private readonly store: JobStore,
    private readonly functions: KnownFunctions,
    private readonly headers: (() => GivenHeaders | undefined) | undefined,
  ) {}

  /** @param reply the client that the output is sent to */
  async one(ref: FunctionRef, input: unknown, options: RunOptions, reply?: string): Promise<EnqueuedKey> {
    const placement = placementOf(options, { ...this.added(ref), reply });
    const encoded = this.functions.encode(ref, input);
    const payload = encoded instanceof Promise ? await encoded : encoded;
    if (options.rollCall) await this.requireWorkers(ref);
    const [key] = await this.store.enqueue(this.functions.nameOf(ref), [payload], placement);
    const { expires } = placement;
    return expires === undefined ? (key as JobKey) : { ...(key as JobKey), expires };
  }

  /** If one input is invalid, none is enqueued. */
  async many(ref: FunctionRef, inputs: readonly unknown[], options: RunManyOptions): Promise<JobKey[]> {
    const placement = placementOfMany(options, this.added(ref));
    if (!Array.isArray(inputs)) throw new InvalidOptionError('inputs', inputs, 'a list');
    const payloads: Payload[] = [];
    for (const input of inputs as readonly unknown[]) {
      const payload = this.functions.encode(ref, input);
      payloads.push(payload instanceof Promise ? await payload : payload);
    }
    if (options.rollCall) await this.requireWorkers(ref);
    return payloads.length === 0 ? [] : this.store.enqueue(this.functions.nameOf(ref), payloads, placement);
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
