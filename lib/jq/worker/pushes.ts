import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { GearMonkeyError } from '../../job/errors.js';
import { ForeignPageError, type PageGuard } from '../http/page-guard.js';
import { formatOfBody, UnsupportedMediaTypeError } from '../wire/media-type.js';
import { Raw } from '../message-pack/raw.js';
import { toRaw } from '../message-pack/unpack.js';
import { readBatch, type Element, type Verdict } from '../wire/batch.js';
import { Fields } from '../wire/fields.js';
import { SIGNATURE_HEADER, verify } from '../wire/signature.js';
import { readWorkerJob, type WorkerJob } from '../wire/worker-job.js';
import type { PushRequest } from './inbox.js';
import { ReplayCache } from './replay-cache.js';
import type { SourceSettings } from './source-options.js';

/** The answer to a push. */
export type PushStatus = 202 | 404 | 410 | 429 | 503;

/** Where a push arrived. */
export interface Origin extends PushRequest {
  /** The registration's key in the path, if any. */
  readonly key: string | undefined;
  /** The URL that was registered at the master, if it is this one. */
  readonly url: string;
}

/** Takes or refuses a job. */
export type OnPush = (job: WorkerJob, origin: Origin) => Promise<PushStatus>;

/** More than a master's default. */
const MAX_DEPTH = 1000;
const RETRY_AFTER_SECONDS = 1;

const VERDICTS: Readonly<Record<PushStatus, Verdict>> = {
  202: { status: 202 },
  404: { status: 404, code: 'UNKNOWN_NAME', message: 'No handler here is for jobs of this name.' },
  410: { status: 410, code: 'WORKER_GONE', message: 'No worker is registered under this URL any more.' },
  429: {
    status: 429,
    code: 'FULL',
    message: 'As many jobs run here as may.',
    retry_after: RETRY_AFTER_SECONDS,
  },
  503: {
    status: 503,
    code: 'NOT_NOW',
    message: 'This worker takes no jobs now.',
    retry_after: RETRY_AFTER_SECONDS,
  },
};
/** A push without a valid signature, or with an old one. */
class UnsignedPushError extends GearMonkeyError {
  readonly code = 'BAD_SIGNATURE';

  constructor() {
    super('The push is not signed with our secret, or too old.');
  }
}

type ErrorClass = new (...args: never[]) => GearMonkeyError;

/** All other refusals are 400. */
const STATUSES: readonly (readonly [ErrorClass, number])[] = [
  [UnsupportedMediaTypeError, 415],
  [UnsignedPushError, 401],
  [ForeignPageError, 403],
];

/** Answers bodies of `POST /worker-job`: one job, or a batch whose jobs are answered one by one. */
export class Pushes {
  private readonly taken: ReplayCache;

  constructor(
    private readonly settings: SourceSettings,
    private readonly pages: PageGuard,
    private readonly onPush: OnPush,
  ) {
    this.taken = new ReplayCache(2 * settings.signatureWindow);
  }

  /** Checks that need no body. @throws ForeignPageError, UnsignedPushError */
  checkHead(headers: IncomingHttpHeaders): void {
    if (this.settings.secrets.length === 0) this.pages.check(headers);
    else if (headers[SIGNATURE_HEADER] === undefined) throw new UnsignedPushError();
  }

  /** The answer to one job, or a list: a batch is answered when all of its jobs are decided. */
  async answer(
    request: IncomingMessage,
    body: Buffer,
    origin: Origin,
  ): Promise<Verdict | readonly Verdict[]> {
    const { secrets, signatureWindow: window } = this.settings;
    const now = new Date();
    if (secrets.length > 0 && !verify(body, request.headers, { url: origin.url, secrets, window, now }))
      throw new UnsignedPushError();
    if (formatOfBody(request) !== 'msgpack') throw new UnsupportedMediaTypeError();
    const signature = secrets.length > 0 ? String(request.headers[SIGNATURE_HEADER]) : undefined;
    if (!new Raw(body).isArray) {
      const read = () => readWorkerJob(Fields.of(toRaw(body, MAX_DEPTH)));
      return this.once(signature, now.getTime(), origin, () => this.decide(read(), origin));
    }
    const elements = readBatch(body, MAX_DEPTH, readWorkerJob);
    return Promise.all(
      elements.map((element, index) =>
        this.once(signature && `${signature} ${index}`, now.getTime(), origin, () =>
          this.decideElement(element, origin),
        ),
      ),
    );
  }

  /** A signed push that was taken is not run again if it is replayed. One that was not answered is no replay when it comes again. */
  private async once(
    key: string | undefined,
    now: number,
    origin: Origin,
    decide: () => Promise<Verdict>,
  ): Promise<Verdict> {
    if (key === undefined) return decide();
    if (this.taken.has(key, now)) return VERDICTS[202];
    const verdict = await decide();
    if (verdict.status === 202) origin.onAnswered((isThere) => isThere && this.taken.add(key, now));
    return verdict;
  }

  private async decideElement(element: Element<WorkerJob>, origin: Origin): Promise<Verdict> {
    return 'error' in element ? refusalOf(element.error) : this.decide(element.value, origin);
  }

  private async decide(job: WorkerJob, origin: Origin): Promise<Verdict> {
    return VERDICTS[await this.onPush(job, origin)];
  }
}

/** Says what is wrong with a push, for its sender. */
export function refusalOf(error: unknown): Verdict {
  if (!(error instanceof GearMonkeyError)) {
    return { status: 500, code: 'INTERNAL', message: 'The worker failed.' };
  }
  const { code, message } = error;
  return { status: STATUSES.find(([type]) => error instanceof type)?.[1] ?? 400, code, message };
}
