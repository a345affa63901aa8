import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks';

/** Since Node 24 a context is a value, so it can be entered again as it was. */
const KEEPS_CONTEXTS = Number(process.versions.node.split('.')[0]) >= 24;

/**
 * Runs a function outside of every AsyncLocalStorage. A connection or a job outlives the request that began it, and would
 * otherwise see that request's tenant and log its fields.
 */
export const withoutContext: <T>(run: () => T) => T = KEEPS_CONTEXTS
  ? AsyncLocalStorage.snapshot()
  : withFreshResource();

/** Before, what runs in a resource leaves its stores there, for a while or for good: each call gets one of its own. */
function withFreshResource(): <T>(run: () => T) => T {
  let next = new AsyncResource('WithoutContext');
  const makeNext = () => void (next = new AsyncResource('WithoutContext'));
  return (run) => {
    const own = next;
    // In the one that is still clean.
    own.runInAsyncScope(makeNext);
    return own.runInAsyncScope(run);
  };
}
