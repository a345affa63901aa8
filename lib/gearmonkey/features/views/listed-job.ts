import { defined } from '../../../job/defined.js';
import type { JobState } from '../../../job/job-state.js';
import type { ListedJob, ListedPayload } from '../../../job/job-views.js';
import { recordsOf } from '../../../job/show-as.js';
import { readJobOptions } from '../../core/wire/job-options.js';
import {
  attemptsOf,
  errorOf,
  hasError,
  progressOf,
  textOf,
  timesOf,
  waitedFor,
  workerOf,
  type StoredJob,
} from '../../core/wire/stored-job.js';

/** Most bytes of a payload that are shown. */
export const SHOWN_BYTES = 4096;

const asListedJob = recordsOf<ListedJob>('ListedJob');

/** A job as a list shows it. */
export function toListedJob(fn: string, id: string, state: JobState, stored: StoredJob): ListedJob {
  const options = readJobOptions(textOf(stored, 'options') ?? '');
  const failed = textOf(stored, 'status') === 'error' || (state === 'retrying' && hasError(stored));
  return asListedJob(
    defined({
      id,
      fn,
      state,
      attempts: attemptsOf(stored),
      stalls: Number(textOf(stored, 'stalls')) || undefined,
      waitsFor: waitedFor(stored),
      times: timesOf(stored, options.expires),
      worker: workerOf(stored),
      error: failed ? errorOf(stored) : undefined,
      progress: progressOf(stored),
      key: textOf(stored, 'key') || undefined,
      tags: options.tags,
      recurring: options.recurring,
      input: payloadOf(stored, 'input'),
      output: failed ? undefined : payloadOf(stored, 'output'),
    }),
  );
}

function payloadOf(stored: StoredJob, field: 'input' | 'output'): ListedPayload | undefined {
  const bytes = textOf(stored, `${field}:bytes`);
  return bytes === undefined ? undefined : defined({ text: textOf(stored, field), bytes: Number(bytes) });
}
