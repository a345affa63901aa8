import { RequestError } from '../vocabulary/errors.js';
import { toHandlers, type RequestHandlers } from '../protocol/request-handlers.js';

/** Requests that begin work: refused while draining, so that the master asks others. */
const BEGINS_WORK = ['poll', 'run-manual', 'continue', 'add-target'];

/** The same handlers, except that work is refused once `isDraining`. */
export function unlessDraining(handlers: RequestHandlers, isDraining: () => boolean): RequestHandlers {
  const refuse = () => {
    if (isDraining()) throw new RequestError('this worker is shutting down');
  };
  const guarded = [...handlers].map(([type, handler]): [string, typeof handler] => [
    type,
    BEGINS_WORK.includes(type) ? (args, from) => (refuse(), handler(args, from)) : handler,
  ]);
  return toHandlers(Object.fromEntries(guarded));
}
