import { defined } from '../../job/defined.js';
import type { Payload } from '../../job/codec.js';
import type { JobErrorInfo } from '../../job/errors.js';
import type { Outcome } from '../../job/job-source.js';
import type { JobResult } from '../vocabulary/job-result.js';
import { mayRetry, type AcceptedJob } from '../storage/accepted-job.js';
import type { JobsTable } from '../storage/schema.js';
import type { OptionalColumn } from '../storage/table-setup.js';

/** The result of an outcome, for the row and for the client of a manual one. */
export interface RowOutcome {
  readonly columns: Partial<JobsTable>;
  /** Undefined if the row waits again. */
  readonly result?: JobResult;
  /** When it may be claimed again, in seconds since 1970. */
  readonly due?: number;
}

const FAILED_CODE = 1;
const NO_RETRY =
  "[jobd: not tried again: that takes the columns 'attempts' and 'time_scheduled', which this table lacks]";

/** The columns that a daemon would write, with the output as stdout and the error as stderr. */
export function rowOutcome(
  outcome: Outcome,
  job: AcceptedJob,
  columns: ReadonlySet<OptionalColumn>,
): RowOutcome {
  switch (outcome.status) {
    case 'success':
      return ended({ result: 'ok', code: 0, signal: null, stdout: textOf(outcome.output), stderr: '' });
    case 'error':
      return failed(describe(outcome.error));
    case 'retry':
      return retried(outcome.error, outcome.delay, job, columns);
    // This source lacks the capabilities `snooze` and `limits`.
    case 'snoozed':
    case 'held':
    case 'released':
      return {
        columns: defined({
          status: job.origin,
          attempts: columns.has('attempts') ? job.attempts : undefined,
        }),
      };
  }
}

function retried(
  error: JobErrorInfo,
  delay: number,
  job: AcceptedJob,
  columns: ReadonlySet<OptionalColumn>,
): RowOutcome {
  const text = describe(error);
  if (!mayRetry(job, columns)) return failed(job.origin === 'manual' ? text : `${text}\n${NO_RETRY}`);
  const due = Math.ceil((Date.now() + delay) / 1000);
  const output = { return_code: FAILED_CODE, sig: null, stdout: '', stderr: text };
  return { columns: { status: 'waiting', time_scheduled: due, ...output }, due };
}

function failed(stderr: string): RowOutcome {
  return ended({ result: 'fail', code: FAILED_CODE, signal: null, stdout: '', stderr });
}

function ended(result: JobResult): RowOutcome {
  const { code: return_code, signal: sig, stdout, stderr } = result;
  const time_finished = Math.floor(Date.now() / 1000);
  const output = { return_code, sig, stdout, stderr };
  return { result, columns: { status: 'done', result: result.result, time_finished, ...output } };
}

/** The message, and the stack. */
function describe({ message, stack }: JobErrorInfo): string {
  return stack ? `${message}\n${stack}` : message;
}

function textOf(output: Payload): string {
  return typeof output === 'string' ? output : Buffer.from(output).toString();
}
