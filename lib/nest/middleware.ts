import type { EnqueueMiddleware } from '../gearmonkey/core/client/enqueue-middleware.js';
import { InvalidOptionError } from '../job/errors.js';
import { checkOptions, optionNames } from '../job/known-options.js';
import type { RunMiddleware } from '../worker/run-middleware.js';

/** What an app does around all of its jobs. The first one in the list is outermost. */
export interface JobMiddleware extends EnqueueMiddleware, RunMiddleware {}

const HOOKS = optionNames<Required<JobMiddleware>>({ aroundEnqueue: true, aroundRun: true, onOutcome: true });

/** @throws InvalidOptionError */
export function checkMiddleware(given: unknown): void {
  if (given === undefined) return;
  if (!Array.isArray(given))
    throw new InvalidOptionError('middleware', given, 'a list of objects with hooks');
  for (const one of given as readonly unknown[]) checkOne(one);
}

/** A provider has other members; an object that was written here has a hook, and nothing that looks like one. */
function checkOne(one: unknown): void {
  if (typeof one !== 'object' || one === null)
    throw new InvalidOptionError('middleware', one, 'a list of objects, of which each has a hook');
  if (Object.getPrototypeOf(one) === Object.prototype) checkOptions('middleware', one, HOOKS);
  const hooks = [...HOOKS].filter((hook) => (one as Record<string, unknown>)[hook] !== undefined);
  if (hooks.length === 0)
    throw new InvalidOptionError('middleware', one, `objects with one of ${[...HOOKS].join(', ')}`);
  for (const hook of hooks) {
    const value = (one as Record<string, unknown>)[hook];
    if (typeof value !== 'function') throw new InvalidOptionError(`middleware.${hook}`, value, 'a function');
  }
}
