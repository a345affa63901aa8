import { defined } from '../../../job/defined.js';
import type { Payload } from '../../../job/codec.js';
import type { JobOptions } from '../../../job/job-source.js';
import type { StoredTick } from '../../../job/recurring.js';
import type { Slot, Timing } from './timing.js';

/** What happens with ticks whose time passed while no worker ran. */
export type CatchUp = 'skip' | 'last' | 'all';

/** The app whose code declares a schedule. */
export interface DeclaringApp {
  readonly name: string;
  readonly version: string;
}

/** The unique key of a schedule's jobs, from its definition. */
export interface UniqueTick {
  readonly key: string;
  readonly kind: 'unfinished' | 'waiting' | 'throttle';
  /** Of a throttle. */
  readonly span?: number;
}

/** A schedule as a client writes it: as JSON, with times in milliseconds. */
export interface Spec extends Timing {
  readonly input: string;
  /** Whether `input` is base64, for bytes that are not text. */
  readonly base64?: true;
  readonly limit?: number;
  readonly catchUp?: CatchUp;
  readonly jitter?: number;
  readonly ifRunning?: 'skip';
  /** How long a job may wait until it is begun. */
  readonly expires?: number;
  /** Options of its jobs. */
  readonly options?: Pick<JobOptions, 'retry' | 'timeout' | 'headers'>;
  /** Which job stands for a new one. */
  readonly unique?: UniqueTick;
  readonly paused?: true;
  readonly app?: DeclaringApp;
}

/** A schedule with its state. */
export interface StoredSchedule {
  readonly id: string;
  readonly spec: Spec;
  readonly version: string;
  /** The next tick. Absent if it is paused or has ended. */
  readonly slot?: Slot;
  /** The slot of the last job, in ms since 1970. */
  readonly previous?: number;
  /** The id of the last job. */
  readonly job?: string;
  /** How many jobs it has created. */
  readonly made: number;
}

/** An input as the spec holds it: JSON has only text. */
export function storedInput(payload: Payload): Pick<Spec, 'input' | 'base64'> {
  if (typeof payload === 'string') return { input: payload };
  return { input: Buffer.from(payload).toString('base64'), base64: true };
}

export function payloadOf({ input, base64 }: Spec): Payload {
  return base64 ? Buffer.from(input, 'base64') : input;
}

/** The options of a job, as JSON. @param due when the job may run, in ms since 1970 */
export function optionsOfTick(spec: Spec, recurring: StoredTick, due: number): string {
  const expires = spec.expires === undefined ? undefined : Math.ceil(due + spec.expires);
  return JSON.stringify(defined({ ...spec.options, expires, recurring }));
}
