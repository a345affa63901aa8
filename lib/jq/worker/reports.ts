import type { JobErrorInfo } from '../../job/errors.js';
import { messageOf } from '../../job/errors.js';
import type { Outcome } from '../../job/job-source.js';
import { isTemporary, type MasterHttp } from '../http/master-http.js';
import { retryUntilAnswered } from '../http/retry-until-answered.js';
import { pack, type Packable } from '../message-pack/pack.js';
import { Raw } from '../message-pack/raw.js';
import { toRaw } from '../message-pack/unpack.js';
import { messagePack } from '../message-pack/codec.js';
import type { HeldJob } from './inbox.js';
import { isUnknownWorker, type Registration } from './registration.js';
import { answerOf, isLocked, ReportQueue, type Answer } from './report-queue.js';

/** The deepest result that is sent; the master has its own limit. */
const MAX_DEPTH = 1000;
/** Statuses of a busy master, which need no attention. */
const LATER = new Error('later');

/** Reports to the master how jobs ended, retrying until there is an answer. */
export class Reports {
  private readonly queues = new WeakMap<Registration, ReportQueue>();

  constructor(
    private readonly http: MasterHttp,
    private readonly signal: AbortSignal,
    private readonly onProblem: (message: string) => void,
  ) {}

  /** False if the master refused it because the worker has lost the job. Rejects when the worker leaves. */
  async send(job: HeldJob, outcome: Outcome): Promise<boolean> {
    const isRelease = outcome.status === 'released' && job.attempt !== undefined;
    const path = isRelease ? '/worker/release' : '/done';
    const head = { job_id: outcome.claim.id, attempt: job.attempt };
    const answer = await this.sendUntilAnswered(
      job,
      path,
      pack(isRelease ? head : { ...head, ...reportOf(outcome) }),
    );
    if (isTaken(answer)) return true;
    if (isUnknownWorker(answer) && job.workerId !== undefined) job.registration.forgotten(job.workerId);
    if (answer.status === 404 || answer.status === 409) return false;
    if (!isRelease) return this.reportRefusal(job, head, answer);
    this.onProblem(`Job ${outcome.claim.id} of "${job.claim.fn}" can't be given back: ${refusalOf(answer)}`);
    return false;
  }

  /** If the master can't take a report for its size or depth, reports a failure instead of waiting for the job's timeout. */
  private async reportRefusal(
    job: HeldJob,
    head: { readonly job_id: string },
    answer: Answer,
  ): Promise<boolean> {
    const failure = {
      name: 'JqRefusedError',
      code: 'REPORT_REFUSED',
      message: refusalOf(answer),
    };
    this.onProblem(`Job ${head.job_id} of "${job.claim.fn}" fails for its report: ${failure.message}`);
    return isTaken(await this.sendUntilAnswered(job, '/done', pack({ ...head, ...failed(failure, false) })));
  }

  /** By contract, repeating a report does no harm. */
  private sendUntilAnswered(job: HeldJob, path: string, body: Buffer): Promise<Answer> {
    const { signal } = this;
    const send = async () => {
      signal.throwIfAborted();
      const id = job.workerId ?? (await job.registration.ready());
      return this.post(job.registration, id, path, body);
    };
    return retryUntilAnswered(send, {
      signal,
      unanswered: (answer) => {
        if (isLocked(answer)) return new Error(`it refuses them with ${answer.status}. Check \`token\`.`);
        if (isTemporary(answer)) return LATER;
        return isVerdict(answer, job)
          ? undefined
          : new Error(`it refuses them with ${answer.status}, without a code`);
      },
      onFailure: (error) => {
        if (error === LATER) return;
        this.onProblem(`A report waits for the master at ${this.http.url}: ${messageOf(error)}`);
      },
    });
  }

  /** Reports may go together; other requests go alone. */
  private async post(
    registration: Registration,
    workerId: string,
    path: string,
    body: Buffer,
  ): Promise<Answer> {
    if (path === '/done') return this.queueOf(registration).post(workerId, body);
    const headers = { 'worker-id': workerId };
    return answerOf(await this.http.request('POST', path, { body, headers, signal: this.signal }));
  }

  private queueOf(registration: Registration): ReportQueue {
    const known = this.queues.get(registration);
    if (known) return known;
    const queue = new ReportQueue(registration, this.http, this.signal);
    this.queues.set(registration, queue);
    return queue;
  }
}

function isTaken({ status }: Answer): boolean {
  return status >= 200 && status < 300;
}

/**
 * Whether it settles a report. A refusal that ends a job has the master's code: others may be of something in between. Only
 * a master that gives jobs no attempts, and may know no codes, refuses without one.
 */
function isVerdict(answer: Answer, { attempt }: HeldJob): boolean {
  if (isTaken(answer) || answer.code !== undefined) return true;
  return attempt === undefined && (answer.status === 404 || answer.status === 409);
}

function refusalOf({ status, message = 'without a reason' }: Answer): string {
  return `The master refused the report with ${status}: ${message}`;
}

type Report = { readonly [key: string]: Packable | undefined };

function reportOf(outcome: Outcome): Report {
  // This source lacks the capabilities `snooze` and `limits`.
  if (outcome.status === 'released' || outcome.status === 'snoozed' || outcome.status === 'held') {
    return failed({ name: 'ShutdownError', message: 'the worker gave it back' }, true);
  }
  if (outcome.status !== 'success') return failed(outcome.error, outcome.status === 'retry');
  try {
    return { type: 'success', finished_at: new Date().toISOString(), result: resultOf(outcome.output) };
  } catch (error) {
    const message = `The output is not MessagePack: ${messageOf(error)}`;
    return failed({ name: 'NotSerializableError', code: 'NOT_SERIALIZABLE', message }, false);
  }
}

function failed(error: JobErrorInfo, shouldRetry: boolean): Report {
  return {
    type: 'failure',
    finished_at: new Date().toISOString(),
    reason: error.code === 'JOB_TIMEOUT' ? 'timeout' : 'other',
    should_retry: shouldRetry,
    message: error.message,
    error: resultOf(messagePack.encode(error)),
  };
}

/** Codecs that write text, such as `json`, make a string of it. @throws MalformedMessageError */
function resultOf(output: string | Uint8Array): Packable {
  if (typeof output === 'string') return output;
  return new Raw(toRaw(Buffer.from(output.buffer, output.byteOffset, output.byteLength), MAX_DEPTH).bytes);
}
