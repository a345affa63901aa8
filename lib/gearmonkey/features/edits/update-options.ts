import { defined } from '../../../job/defined.js';
import type { Duration } from '../../../job/duration.js';
import { InvalidOptionError } from '../../../job/errors.js';
import { checkOptions, optionNames } from '../../../job/known-options.js';
import type { Place } from '../../core/client/job-store.js';
import { queueOf, type Priority } from '../../core/client/run-options.js';

/** What `update` changes of a job. What is left out stays. */
export interface UpdateOptions<Input = unknown> {
  /** Checked and encoded as that of `run`. */
  input?: Input;
  /** The queue that the job moves to, behind the others there. */
  priority?: Priority;
  /** When the job may run. A time in the past means now. */
  scheduled?: Date;
  /** How long the job waits, counted from now. Use either this or `scheduled`. */
  delay?: Duration;
}

const UPDATE = optionNames<UpdateOptions>({ input: true, priority: true, scheduled: true, delay: true });

/**
 * A job's new input, and the queue that it moves to; undefined if they stay.
 *
 * @throws ConfigurationError, InvalidOptionError
 */
export function checkUpdate<Input>(options: UpdateOptions<Input>): { input?: Input; place?: Place } {
  const { input, priority, scheduled, delay } = checkOptions('update', options, UPDATE);
  const moves = [priority, scheduled, delay].some((option) => option !== undefined);
  if (!moves && input === undefined)
    throw new InvalidOptionError(
      'changes',
      options,
      'at least one of `input`, `priority`, `scheduled` and `delay`',
    );
  const place = moves ? queueOf({ priority, scheduled, delay } as UpdateOptions) : undefined;
  return defined({ input, place });
}
