import type { Traced } from '../support/command-trace.js';

/** What jobs cost a server, each: counts, which are the same on any machine. */
export interface CommandCost {
  /** Commands that clients and workers sent. */
  readonly roundTrips: number;
  /** Commands that scripts called. */
  readonly scriptCalls: number;
  /** Bytes of keys and arguments that were sent. */
  readonly bytes: number;
}

/** What idle workers do each second, however many jobs there are. */
const BACKGROUND = new Set([
  'exists',
  'look',
  'watch',
  'presence',
  'renew',
  'ping',
  'script',
  'hello',
  'client',
  'info',
]);

export function costOf(commands: readonly Traced[], jobs: number): CommandCost {
  let [roundTrips, scriptCalls, bytes] = [0, 0, 0];
  let background = false;
  for (const { name, args, source } of commands) {
    // What a script calls follows its call.
    if (source !== 'lua') background = BACKGROUND.has(name);
    if (background) continue;
    if (source === 'lua') {
      scriptCalls += 1;
    } else {
      roundTrips += 1;
      bytes += args.reduce((sum, arg) => sum + arg.length, 0);
    }
  }
  return { roundTrips: roundTrips / jobs, scriptCalls: scriptCalls / jobs, bytes: bytes / jobs };
}
