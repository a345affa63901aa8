import { setTimeout as delay } from 'node:timers/promises';
import { checkPriority } from '../../../job/check-limit.js';
import { defined } from '../../../job/defined.js';
import {
  InvalidOptionError,
  JobBegunError,
  JobLostError,
  JobNotFoundError,
  NotCancellableError,
} from '../../../job/errors.js';
import { checkOptions, optionNames } from '../../../job/known-options.js';
import type { FunctionRef, InputOf } from '../../../job/job-definition.js';
import { isJobId } from '../../core/client/job-access.js';
import type { Place } from '../../core/client/job-store.js';
import type { ClientCore } from '../../core/feature.js';
import type { JobKey } from '../../core/wire/protocol.js';
import type { Cancellation, Updated } from './edit-scripts.js';
import { isBegun } from '../../core/wire/stored-job.js';
import { queueOf, type CancelOptions, type UpdateOptions } from '../../core/client/run-options.js';
import type { Changes, EditsStore } from './edit-store.js';

/** A worker that gives a job its key needs a round trip for it. One without the limit may also run a job that has no key. */
const [FILING_LOOKS, FILING_MS] = [20, 10];

const CANCEL = optionNames<CancelOptions>({ running: true });
const UPDATE = optionNames<UpdateOptions>({ input: true, priority: true, scheduled: true, delay: true });

/** Changes and cancels single jobs. A key with a mark never concerns another job that got the same id. */
export class JobEdits {
  constructor(private readonly core: Pick<ClientCore<EditsStore>, 'store' | 'functions'>) {}

  /** Whether the job is cancelled, now or before. */
  async cancel(ref: FunctionRef, key: JobKey, options: CancelOptions): Promise<boolean> {
    const came = await this.end(ref, key, options);
    return came === 'cancelled' || came === 'cancelled-before';
  }

  /** Whether the job was cancelled by this call. */
  async cancelNow(ref: FunctionRef, key: JobKey, options: CancelOptions): Promise<boolean> {
    return (await this.end(ref, key, options)) === 'cancelled';
  }

  private async end(ref: FunctionRef, key: JobKey, options: CancelOptions): Promise<Cancellation> {
    const { functions, store } = this.core;
    const fn = functions.nameOf(ref);
    const { running } = checkCancel(options);
    const came = isJobId(key.id) ? await store.edits.cancel(fn, key, !running) : 'missing';
    if (came === 'missing') throw new JobNotFoundError(fn, key.id);
    if (came === 'lost') throw new JobLostError(fn, key.id);
    if (came === 'running' && running) throw new NotCancellableError(fn, key.id);
    return came;
  }

  async update<F extends FunctionRef>(
    ref: F,
    key: JobKey,
    changes: UpdateOptions<InputOf<F>>,
  ): Promise<void> {
    const { functions } = this.core;
    const fn = functions.nameOf(ref);
    const { input: given, place } = checkUpdate(changes);
    const limit = functions.setting(ref, 'limit');
    if (limit && place) checkPriority(limit, place.queue);
    const isSame = given === undefined;
    const limitKey = isSame ? undefined : limit?.keyOf(given);
    const input = isSame ? undefined : await functions.encode(ref, given);
    const made: Changes = { input, place, key: limitKey };
    const came = isJobId(key.id) ? await this.change(fn, key, made, limit !== undefined) : 'missing';
    if (came === 'missing') throw new JobNotFoundError(fn, key.id);
    if (came === 'lost') throw new JobLostError(fn, key.id);
    if (came !== 'updated') throw new JobBegunError(fn, key.id, came === 'finished');
  }

  /** A worker gives a job a key that was enqueued without one, such as a unique one: that is awaited, as it has not begun. */
  private async change(fn: string, key: JobKey, changes: Changes, limited: boolean): Promise<Updated> {
    const { store } = this.core;
    for (let looks = 0; ; looks++) {
      const came = await store.edits.update(fn, key, changes);
      if (came !== 'begun' || !limited || looks === FILING_LOOKS) return came;
      const [stored] = await store.read(fn, [key.id]);
      if (!stored || (isBegun(stored) && stored.has('key'))) return came;
      await delay(FILING_MS);
    }
  }
}

/** @throws ConfigurationError, InvalidOptionError */
function checkCancel(options: CancelOptions): Required<CancelOptions> {
  const { running = true } = checkOptions('cancel', options, CANCEL);
  if (typeof running !== 'boolean') throw new InvalidOptionError('running', running, 'true or false');
  return { running };
}

/**
 * A job's new input, and the queue that it moves to; undefined if they stay.
 *
 * @throws ConfigurationError, InvalidOptionError
 */
function checkUpdate<Input>(options: UpdateOptions<Input>): { input?: Input; place?: Place } {
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
