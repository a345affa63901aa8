import type { Redis } from 'ioredis';
import { SILENCE_MS } from './own-settings.js';

/** 1 Mbit/s: slower lines are not supported. */
const SLOWEST_BYTES_PER_MS = 128;

/** How long a reply may take beyond the time that its command waits on purpose. */
const WAIT_GRACE_MS = 500;

interface Command {
  readonly name?: string;
  readonly args: readonly unknown[];
}

/** What ioredis keeps to itself, and who waits for a reply. */
interface Internals {
  readonly socketTimeoutTimer?: unknown;
  readonly commandQueue?: {
    peekFront(): { readonly command: Command } | undefined;
  };
}

/**
 * Gives a socket, besides the time it may be silent, what a slow line needs for the command whose reply is next: a
 * large one that is still being sent is no sign of a dead line, nor is a BLPOP that waits. What comes behind it is given its time when that
 * reply is there, since ioredis asks anew then.
 */
export function allowUploads(client: Redis): void {
  const internals = client as unknown as Internals;
  Object.defineProperty(client.options, 'socketTimeout', {
    configurable: true,
    enumerable: true,
    // Also read with each command while a timer runs: then it is not used.
    get: () => (internals.socketTimeoutTimer === undefined ? silence(internals) : SILENCE_MS),
  });
}

function silence({ commandQueue }: Internals): number {
  const next = commandQueue?.peekFront()?.command ?? { args: [] };
  const bytes = next.args.reduce<number>((sum, arg) => sum + sizeOf(arg), 0);
  return Math.max(SILENCE_MS, waitOf(next) + WAIT_GRACE_MS) + Math.ceil(bytes / SLOWEST_BYTES_PER_MS);
}

/** Milliseconds that the server may keep the reply back. */
function waitOf({ name, args }: Command): number {
  return name === 'blpop' ? 1000 * (Number(args.at(-1)) || 0) : 0;
}

function sizeOf(arg: unknown): number {
  return typeof arg === 'string' || arg instanceof Uint8Array ? arg.length : 0;
}
