import type { Redis } from 'ioredis';
import { SILENCE_MS } from './own-settings.js';

/** 1 Mbit/s: slower lines are not supported. */
const SLOWEST_BYTES_PER_MS = 128;

/** How long a reply may take after the wait that its command asked for. */
const WAIT_GRACE_MS = 500;

interface Command {
  readonly name?: string;
  readonly args: readonly unknown[];
}

/** Private fields of ioredis: the commands that wait for a reply. */
interface Internals {
  readonly socketTimeoutTimer?: unknown;
  readonly commandQueue?: {
    peekFront(): { readonly command: Command } | undefined;
  };
}

/**
 * Extends a socket's timeout by the time that the next pending command needs: a large command takes long to send on a
 * slow line, and a BLPOP waits on purpose. Neither means that the connection is dead. Later commands get their time
 * after that reply, when ioredis reads the timeout again.
 */
export function allowUploads(client: Redis): void {
  const internals = client as unknown as Internals;
  Object.defineProperty(client.options, 'socketTimeout', {
    configurable: true,
    enumerable: true,
    // ioredis also reads this with each command while a timer runs, and ignores the value then.
    get: () => (internals.socketTimeoutTimer === undefined ? silence(internals) : SILENCE_MS),
  });
}

function silence({ commandQueue }: Internals): number {
  const next = commandQueue?.peekFront()?.command ?? { args: [] };
  const bytes = next.args.reduce<number>((sum, arg) => sum + sizeOf(arg), 0);
  return Math.max(SILENCE_MS, waitOf(next) + WAIT_GRACE_MS) + Math.ceil(bytes / SLOWEST_BYTES_PER_MS);
}

/** How long a blocking command asks the server to wait, in milliseconds. */
function waitOf({ name, args }: Command): number {
  return name === 'blpop' ? 1000 * (Number(args.at(-1)) || 0) : 0;
}

function sizeOf(arg: unknown): number {
  return typeof arg === 'string' || arg instanceof Uint8Array ? arg.length : 0;
}
