import type { Payload } from '../../lib/job/codec.js';
import type { JobSource } from '../../lib/job/job-source.js';
import type { ClientOptions, GearMonkeyClient } from '../../lib/gearmonkey/client.js';
import type { Placement } from '../../lib/gearmonkey/core/client/job-store.js';
import type { GearMonkeyStore } from '../../lib/gearmonkey/features/index.js';
import { until } from '../support/until.js';

/** How often a job of a rig may lose its worker. */
export const MAX_STALLS = 2;

/** A server with its clients and sources, for one `describe`. */
export interface SourceRig {
  /** A function name that no other test uses. */
  fn(): string;
  /** A worker's side of its own. @param lease in ms, long unless given */
  source(options?: { lease?: number }): JobSource;
  /** Creates a job as a client in any language does; returns its id. */
  submit(fn: string, input: Payload, placement?: Placement): Promise<string>;
  stored(fn: string, id: string): Promise<StoredState>;
  /** How many workers are announced. */
  workers(fn: string): Promise<number>;
  /** Lets time pass at once: on the server, for sources and for clients. Without it, time passes for real. */
  pass?(ms: number): Promise<void>;
  /** Ends what a test opened that has ended: what is left of it would cost all others time. */
  endTest?(): Promise<void>;
  /** Ends all that was opened. */
  close(): Promise<void>;
}

export interface StoredState {
  readonly status: string | undefined;
  readonly output?: string;
  /** The `code` of its error. */
  readonly code?: string;
}

/** A rig with clients of ours. */
export interface ClientRig extends SourceRig {
  client(options?: ClientOptions): GearMonkeyClient;
  store(): GearMonkeyStore;
  /** Deletes the hash of a job, as no worker or client does. */
  deleteHash(fn: string, id: string): Promise<void>;
  /** How many subscriptions of the function's channel the server holds. */
  subscriptions(fn: string): Promise<number>;
}

/** Until the server holds a subscription of the function's channel: what is published from then on, arrives. */
export const subscribed = (rig: ClientRig, fn: string) =>
  until(async () => (await rig.subscriptions(fn)) > 0, { message: 'No subscription' });

/** Until so many milliseconds have passed: at once if the rig can do that. */
export async function pass(rig: SourceRig, ms: number): Promise<void> {
  const end = performance.now() + ms;
  if (rig.pass) await rig.pass(ms);
  else await until(() => performance.now() >= end, { interval: 20 });
}

/** In ms, what a test lets pass: longer than it can last itself, unless time passes for real. */
export const spanOf = (rig: SourceRig) => (rig.pass ? 20_000 : 400);

/** A second, after which workers look for jobs that came without a message: those of plain clients, and those that are due. */
export const LOOK_MS = 1000;

/** Workers look now for jobs that came without a message, as those of plain clients do. */
export const workersLook = async (rig: SourceRig) => rig.pass?.(LOOK_MS);

/** The state of a hash that is kept as the protocol has it. */
export function stateOf(hash: ReadonlyMap<string, Uint8Array> | undefined): StoredState {
  const text = (field: string) => {
    const bytes = hash?.get(field);
    return bytes === undefined ? undefined : Buffer.from(bytes).toString();
  };
  const [status, output, error] = [text('status'), text('output'), text('error')];
  return {
    status,
    ...(output === undefined ? {} : { output }),
    ...(error === undefined ? {} : { code: (JSON.parse(error) as { code?: string }).code ?? '' }),
  };
}
