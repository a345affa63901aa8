import { ConfigurationError } from '../job/errors.js';
import { NO_HEADERS } from '../job/headers.js';
import type { Claim } from '../job/job-source.js';
import type { RunWith } from './job-handler.js';

/** Runs a handler in what `runWith` sets up. The output is that of the handler; the result of `runWith` is ignored. */
export async function runInContext(
  handle: () => Promise<unknown>,
  { options }: Pick<Claim, 'options'>,
  runWith: RunWith,
): Promise<unknown> {
  let handled: Promise<unknown> | undefined;
  const next = () => {
    handled ??= handle();
    // Its rejection is handled below, when `runWith` has ended.
    handled.catch(() => undefined);
    return handled;
  };
  await runWith(options.headers ?? NO_HEADERS, next);
  if (!handled) throw new ConfigurationError('`runWith` ended without calling next(), so no handler ran.');
  return handled;
}
