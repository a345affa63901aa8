import { isTemporary, reasonOf, type MasterHttp, type MasterReply } from '../http/master-http.js';
import { fitting, MAX_BATCH_BYTES, packBatch, readVerdicts } from '../wire/batch.js';
import type { Registration } from './registration.js';

/** Requests of batches under way: what ends in the meantime goes with the next. */
const MAX_AT_ONCE = 2;

/** What the master said of one report. */
export interface Answer {
  readonly status: number;
  readonly code?: string | undefined;
  readonly message?: string | undefined;
  /** Milliseconds, as it asks to wait; 0 where it doesn't. */
  readonly rest: number;
}

interface Entry {
  readonly workerId: string;
  readonly body: Buffer;
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

/** The way of one worker's reports: those that come together go together, to a master that takes batches. */
export class ReportQueue {
  private readonly waiting: Entry[] = [];
  private underWay = 0;
  private isScheduled = false;

  constructor(
    private readonly registration: Registration,
    private readonly http: MasterHttp,
    private readonly signal: AbortSignal,
  ) {}

  /** Tries once. @throws what connections throw, and when the signal aborts */
  post(workerId: string, body: Buffer): Promise<Answer> {
    if (this.registration.batch === 1 || body.length > MAX_BATCH_BYTES) return this.postOne(workerId, body);
    return new Promise((resolve, reject) => {
      this.waiting.push({ workerId, body, resolve, reject });
      this.schedule();
    });
  }

  /** After all that ends in this tick. */
  private schedule(): void {
    if (this.isScheduled) return;
    this.isScheduled = true;
    setImmediate(() => {
      this.isScheduled = false;
      this.flush();
    });
  }

  private flush(): void {
    while (this.waiting.length > 0 && (this.underWay < MAX_AT_ONCE || this.registration.batch === 1)) {
      void this.send(this.next());
    }
  }

  /** The oldest that fit into a request, all of one id: the master may have given another since. */
  private next(): Entry[] {
    const [first] = this.waiting;
    const other = this.waiting.findIndex(({ workerId }) => workerId !== first?.workerId);
    const alike = other < 0 ? this.waiting : this.waiting.slice(0, other);
    return this.waiting.splice(0, fitting(alike, this.registration.batch));
  }

  private async send(entries: readonly Entry[]): Promise<void> {
    this.underWay += 1;
    try {
      if (entries.length > 1) await this.sendBatch(entries);
      else await this.sendSingly(entries);
    } catch (error) {
      for (const { reject } of entries) reject(error);
    } finally {
      this.underWay -= 1;
      this.flush();
    }
  }

  private async sendBatch(entries: readonly Entry[]): Promise<void> {
    const workerId = entries[0]?.workerId ?? '';
    const reply = await this.request(workerId, packBatch(entries.map(({ body }) => body)));
    const verdicts = reply.status === 200 ? readVerdicts(reply.body, entries.length) : undefined;
    if (verdicts) {
      verdicts.forEach(({ status, code, message, retry_after = 0 }, index) =>
        entries[index]?.resolve({ status, code, message, rest: retry_after * 1000 }),
      );
    } else if (isTemporary(reply) || isLocked(reply)) {
      for (const { resolve } of entries) resolve(answerOf(reply));
    } else {
      // It is none that takes batches, whatever it said, until it says so again.
      this.registration.batch = 1;
      await this.sendSingly(entries);
    }
  }

  private async sendSingly(entries: readonly Entry[]): Promise<void> {
    await Promise.all(
      entries.map(({ workerId, body, resolve, reject }) =>
        this.postOne(workerId, body).then(resolve, reject),
      ),
    );
  }

  private async postOne(workerId: string, body: Buffer): Promise<Answer> {
    return answerOf(await this.request(workerId, body));
  }

  private async request(workerId: string, body: Buffer): Promise<MasterReply> {
    const { signal } = this;
    signal.throwIfAborted();
    return this.http.request('POST', '/done', { body, headers: { 'worker-id': workerId }, signal });
  }
}

/** Whether a token is wrong: it may be right once somebody has seen to it. */
export function isLocked({ status }: { readonly status: number }): boolean {
  return status === 401 || status === 403;
}

/** Of a reply to one report. */
export function answerOf(reply: MasterReply): Answer {
  const { status, rest } = reply;
  return status < 300 ? { status, rest } : { status, rest, ...reasonOf(reply) };
}
