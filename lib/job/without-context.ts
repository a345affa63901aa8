import { AsyncLocalStorage } from 'node:async_hooks';

/**
 * Runs a function outside of every AsyncLocalStorage. A connection or a job outlives the request that began it, and would
 * otherwise see that request's tenant and log its fields.
 */
export const withoutContext: <T>(run: () => T) => T = AsyncLocalStorage.snapshot();
