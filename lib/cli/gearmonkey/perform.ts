import type { Command } from 'commander';
import { JobFailedError } from '../../job/errors.js';
import { Output } from './output.js';
import { openSession, reachServer, type ConnectionFlags, type Session } from './session.js';

/** The job failed, or something was found. */
export const FOUND = 2;
const WRONG = 1;
const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

/** What every command gets. */
export interface Context extends Session {
  readonly out: Output;
  /** Aborts with the first signal. */
  readonly signal: AbortSignal;
}

export interface Flags extends ConnectionFlags {
  readonly json?: true;
}

/** A command: its arguments and flags are those of its usage. Returns the exit code if it is not 0. */
export type Action<F extends object> = (
  context: Context,
  args: readonly (string | undefined)[],
  flags: F & Flags,
) => Promise<number | void>;

/** How a command ends at a signal: one that is `endless` has done its work at SIGINT. */
export interface Ending {
  readonly endless?: boolean;
  /** The command sees the signal, and ends by itself. */
  readonly finishes?: boolean;
  /** Whether its flags name another server, so that no Redis has to answer. */
  readonly isElsewhere?: (flags: object) => boolean;
}

/** Has `command` open a session, act, and close it. */
export function acts<F extends object>(command: Command, action: Action<F>, ending: Ending = {}): Command {
  return command.allowExcessArguments(false).action(async () => {
    process.exitCode = await perform(command, action, ending);
  });
}

async function perform<F extends object>(
  command: Command,
  action: Action<F>,
  { endless = false, finishes = false, isElsewhere }: Ending,
): Promise<number> {
  const flags = command.optsWithGlobals<F & Flags>();
  const out = new Output(flags.json === true);
  const interruption = new AbortController();
  let session: Session | undefined;
  try {
    session = openSession(flags);
    const interrupted = untilSignal(interruption, endless);
    const reached = isElsewhere?.(flags) || Promise.race([reachServer(session.connection), interrupted]);
    const code = await reached;
    if (typeof code === 'number') return code;
    const acting = action({ ...session, out, signal: interruption.signal }, command.args, flags);
    if (!finishes) return (await Promise.race([acting, interrupted])) ?? 0;
    const done = (await acting) ?? 0;
    return interruption.signal.aborted ? await interrupted : done;
  } catch (error) {
    out.error(error);
    return error instanceof JobFailedError ? FOUND : WRONG;
  } finally {
    await session?.close();
  }
}

/** The exit code after a signal. A second signal ends the program at once. */
function untilSignal(interruption: AbortController, endless: boolean): Promise<number> {
  return new Promise((resolve) => {
    for (const [signal, code] of Object.entries(SIGNALS)) {
      process.on(signal, () => {
        if (interruption.signal.aborted) process.exit(code);
        interruption.abort();
        resolve(endless && signal === 'SIGINT' ? 0 : code);
      });
    }
  });
}
