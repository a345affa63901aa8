import { messageOf } from '../../job/errors.js';
import { realNow } from '../../job/real-time.js';
import { Backoff } from '../http/backoff.js';
import { isTemporary, reasonOf, refused, type MasterHttp, type MasterReply } from '../http/master-http.js';
import { Raw } from '../message-pack/raw.js';
import { toRaw } from '../message-pack/unpack.js';
import { Fields } from '../wire/fields.js';
import { readWorkerJob, type WorkerJob } from '../wire/worker-job.js';
import { isForgotten, type Registration } from './registration.js';

const POLL_SECONDS = 20;
/** A long poll is answered a little after its time. */
const MARGIN_MS = 10_000;
const MAX_DEPTH = 1000;

/** A job, and the earliest moment at which its master may have handed it out, by `realNow`. */
export interface Pulled {
  readonly job: WorkerJob;
  readonly handedAt: number;
}

export interface PullerOptions {
  readonly http: MasterHttp;
  readonly registration: Registration;
  /** Whether a claim waits for a job of the function. */
  readonly wanted: () => boolean;
  readonly onJob: (pulled: Pulled) => void;
  readonly onProblem: (message: string) => void;
}

/**
 * Pulls jobs of one registration from the master while they are wanted, one at a time. A request is never given up until
 * the registration is over, since its reply may already carry a job.
 */
export class Puller {
  /** Whether one is under way, or has to be repeated. */
  isPulling = false;
  /** The number of the last pull, and of the last one that has brought a job: by these the master knows whether a reply was lost. */
  private pulls = 0;
  private got = 0;
  /** Whether the last pull was not answered: its reply may have had a job. */
  private isUnanswered = false;

  constructor(private readonly options: PullerOptions) {}

  /** Starts pulling unless it does already. */
  want(): void {
    if (this.isPulling) return;
    this.isPulling = true;
    // Rejects only when the registration is over.
    void this.pullWhileWanted()
      .catch(() => undefined)
      .finally(() => (this.isPulling = false));
  }

  /** Pulls a job if there is one now. False if there is none. Without an answer it pulls on, as that may have had a job. */
  async pullOne(): Promise<boolean> {
    const { registration, onJob } = this.options;
    this.isPulling = true;
    try {
      const pulled = await this.pull(0);
      registration.signal.throwIfAborted();
      if (pulled) onJob(pulled);
      return pulled !== undefined;
    } catch {
      return this.isUnanswered;
    } finally {
      this.isPulling = false;
      if (this.isUnanswered) this.want();
    }
  }

  private async pullWhileWanted(): Promise<void> {
    const { registration, wanted, onJob, onProblem } = this.options;
    const { signal } = registration;
    const backoff = new Backoff();
    // A job whose reply was lost goes back with the next pull, also while this worker has no slot.
    while (wanted() || this.isUnanswered) {
      const begun = realNow();
      const seconds = wanted() ? POLL_SECONDS : 0;
      try {
        const pulled = await this.pull(seconds);
        signal.throwIfAborted();
        // The next claim asks for more.
        if (pulled) return onJob(pulled);
        if (seconds > 0) await backoff.afterPoll(begun, signal);
        else backoff.reset();
      } catch (error) {
        signal.throwIfAborted();
        onProblem(`Pulling jobs failed, trying again: ${messageOf(error)}`);
        await backoff.wait(signal);
      }
    }
  }

  /** `undefined` if there was none in time. */
  private async pull(seconds: number): Promise<Pulled | undefined> {
    const { http, registration } = this.options;
    const id = await registration.ready();
    this.pulls += 1;
    this.isUnanswered = true;
    const asked = realNow();
    const query = `timeout=${seconds}&pull=${this.pulls}&got=${this.got}`;
    const reply = await http.request('POST', `/worker/pull?${query}`, {
      headers: { 'worker-id': id },
      signal: registration.signal,
      timeout: seconds * 1000 + MARGIN_MS,
      waits: true,
    });
    // Something else's may stand for one that had a job.
    this.isUnanswered = !isAnswer(reply);
    if (reply.status === 204) return undefined;
    if (reply.status === 200 && !this.isUnanswered) {
      // Also one that can't be read: it would come again and again.
      this.got = this.pulls;
      const job = readWorkerJob(Fields.of(toRaw(reply.body, MAX_DEPTH)));
      // An older master does not say how long the pull has waited.
      return { job, handedAt: job.waited === undefined ? realNow() : asked + job.waited };
    }
    if (isForgotten(reply)) return void registration.forgotten(id);
    throw refused('The master gives no jobs', reply);
  }
}

/** Whether it can only be the master's: a job, none, or a lasting refusal with a code. */
function isAnswer(reply: MasterReply): boolean {
  const { status, body } = reply;
  if (status < 300) return status === 204 || (status === 200 && new Raw(body).isMap);
  return !isTemporary(reply) && reasonOf(reply).code !== undefined;
}
