import { Batcher } from '../../batching/batcher.js';
import { isTemporary, reasonOf, type MasterHttp, type MasterReply } from '../http/master-http.js';
import { fitting, MAX_BATCH_BYTES, packBatch, readVerdicts } from '../wire/batch.js';
import type { Registration } from './registration.js';

/** The most batch requests at a time; later reports go with the next one. */
const MAX_AT_ONCE = 2;

/** The master's answer to one report. */
export interface Answer {
  readonly status: number;
  readonly code?: string | undefined;
  readonly message?: string | undefined;
  /** Milliseconds that it asks to wait; 0 if it doesn't. */
  readonly rest: number;
}

interface Report {
  readonly workerId: string;
  readonly body: Buffer;
}

/** Sends one worker's reports: several together if the master takes batches. */
export class ReportQueue {
  private readonly reports: Batcher<Report, Answer>;

  constructor(
    private readonly registration: Registration,
    private readonly http: MasterHttp,
    private readonly signal: AbortSignal,
  ) {
    this.reports = new Batcher({
      maxUnderWay: () => (this.registration.batch === 1 ? Infinity : MAX_AT_ONCE),
      take: (waiting) => this.fitting(waiting),
      // After everything that ends in this tick.
      begin: (callback) => setImmediate(callback),
      send: (reports) => (reports.length > 1 ? this.sendBatch(reports) : this.sendSingly(reports)),
    });
  }

  /** Tries once. @throws what connections throw, and when the signal aborts */
  post(workerId: string, body: Buffer): Promise<Answer> {
    if (this.registration.batch === 1 || body.length > MAX_BATCH_BYTES)
      return this.postOne({ workerId, body });
    return this.reports.add({ workerId, body });
  }

  /** The oldest reports that fit into a request, all of one worker id: a new registration has another. */
  private fitting(waiting: readonly Report[]): number {
    const [first] = waiting;
    const other = waiting.findIndex(({ workerId }) => workerId !== first?.workerId);
    return fitting(other < 0 ? waiting : waiting.slice(0, other), this.registration.batch);
  }

  private async sendBatch(reports: readonly Report[]): Promise<readonly (Answer | Promise<Answer>)[]> {
    const workerId = reports[0]?.workerId ?? '';
    const reply = await this.request(workerId, packBatch(reports.map(({ body }) => body)));
    const verdicts = reply.status === 200 ? readVerdicts(reply.body, reports.length) : undefined;
    if (verdicts)
      return verdicts.map(({ retry_after = 0, ...answer }) => ({ ...answer, rest: retry_after * 1000 }));
    if (isTemporary(reply) || isLocked(reply)) return reports.map(() => answerOf(reply));
    // It doesn't take batches after all, until a registration says so again.
    this.registration.batch = 1;
    return this.sendSingly(reports);
  }

  /** Sends each one separately; each has its own answer or failure. */
  private async sendSingly(reports: readonly Report[]): Promise<readonly Promise<Answer>[]> {
    const answers = reports.map((report) => this.postOne(report));
    await Promise.allSettled(answers);
    return answers;
  }

  private async postOne({ workerId, body }: Report): Promise<Answer> {
    return answerOf(await this.request(workerId, body));
  }

  private async request(workerId: string, body: Buffer): Promise<MasterReply> {
    const { signal } = this;
    signal.throwIfAborted();
    return this.http.request('POST', '/done', { body, headers: { 'worker-id': workerId }, signal });
  }
}

/** Whether the token was refused: it may soon be corrected. */
export function isLocked({ status }: { readonly status: number }): boolean {
  return status === 401 || status === 403;
}

/** Reads the reply to one report. */
export function answerOf(reply: MasterReply): Answer {
  const { status, rest } = reply;
  return status < 300 ? { status, rest } : { status, rest, ...reasonOf(reply) };
}
