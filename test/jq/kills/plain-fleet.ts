import { randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { decode, encode, ExtensionCodec } from '@msgpack/msgpack';
import type { Event, Run } from './history.js';

/** Timestamps that are none come, too: they are not this worker's business. */
const extensionCodec = new ExtensionCodec();
extensionCodec.register({ type: -1, encode: () => null, decode: (data) => data });

const RETRY_MS = 20;
const LONGEST_RUN_MS = 20;
const REQUEST_MS = 20_000;

interface Job {
  readonly id: string;
  readonly attempt: number;
}

interface Reply {
  readonly status: number;
  readonly body: unknown;
}

export interface PlainOptions {
  /** Masters, or what leads there: each request goes to the next. */
  readonly masters: readonly string[];
  readonly names?: readonly string[];
  readonly maxJobs?: number;
  /** Jobs in one push, and reports in one request. */
  readonly batch?: number;
  /** How it is reached, if it is pushed to: given its own address. */
  readonly reachedBy?: (url: string) => Promise<string>;
  /** Whether a pulled job is given back once before it is run. */
  readonly releases?: (job: Job) => boolean;
  readonly events: Event[];
}

/** A worker that knows the contract and nothing of ours. It asks again until it is answered. */
export class PlainFleetWorker {
  private readonly server: Server | undefined;
  private readonly seen = new Set<string>();
  private readonly waiting: { report: object; resolve(status: number): void }[] = [];
  private readonly runs = new Set<Promise<void>>();
  private id = '';
  /** Of the registration that holds: pushes for others are not its own. */
  private key = '';
  private calls = 0;
  private isSending = false;
  private hasLeft = false;
  private pulling: Promise<void> | undefined;

  private constructor(private readonly options: PlainOptions) {
    if (!options.reachedBy) return;
    this.server = createServer((pushed, response) => {
      const chunks: Buffer[] = [];
      pushed.on('data', (chunk: Buffer) => chunks.push(chunk));
      pushed.on('end', () => {
        const isMine = pushed.url?.startsWith(`/${this.key}/`) === true && !this.hasLeft;
        if (pushed.method === 'HEAD') return void response.writeHead(isMine ? 204 : 410).end();
        const body = decode(Buffer.concat(chunks), { extensionCodec }) as Job | Job[];
        const status = isMine ? 202 : 410;
        if (Array.isArray(body)) response.writeHead(200).end(encode(body.map(() => ({ status }))));
        else response.writeHead(status).end();
        if (isMine) for (const job of [body].flat()) this.begin(job);
      });
    });
  }

  static async start(options: PlainOptions): Promise<PlainFleetWorker> {
    const worker = new PlainFleetWorker(options);
    await worker.register();
    return worker;
  }

  /** Says that it lives. */
  async ping(): Promise<void> {
    await this.call('POST', '/worker/ping');
  }

  /** Takes leave once all that it runs is reported. */
  async leave(): Promise<void> {
    this.hasLeft = true;
    await this.pulling;
    while (this.runs.size > 0) await Promise.all(this.runs);
    await this.call('DELETE', '/worker');
    this.server?.closeAllConnections();
    this.server?.close();
  }

  private async register(): Promise<void> {
    const { maxJobs = 4, names, batch, reachedBy } = this.options;
    let reached: string | undefined;
    if (this.server && reachedBy) {
      await new Promise<void>((resolve) => this.server?.listen(0, '127.0.0.1', resolve));
      reached = await reachedBy(`http://127.0.0.1:${(this.server.address() as AddressInfo).port}`);
    }
    const { body } = await this.call('POST', '/worker', () => {
      this.key = randomBytes(12).toString('hex');
      const url = reached === undefined ? {} : { url: `${reached}/${this.key}` };
      return {
        name: 'plain',
        max_jobs: maxJobs,
        ...url,
        ...(names ? { names } : {}),
        ...(batch ? { batch } : {}),
      };
    });
    this.id = (body as { worker_id: string }).worker_id;
    if (!this.server) this.pulling = this.pull();
  }

  private async pull(): Promise<void> {
    const released = new Set<string>();
    while (!this.hasLeft) {
      const { status, body } = await this.call('POST', '/worker/pull?timeout=1');
      if (status !== 200) continue;
      const job = body as Job;
      const handOut = () => ({ job_id: job.id, attempt: job.attempt });
      if (this.options.releases) await this.call('POST', '/worker/confirm', handOut);
      if (this.options.releases?.(job) === true && !released.has(job.id)) {
        released.add(job.id);
        await this.call('POST', '/worker/release', handOut);
      } else {
        this.begin(job);
      }
    }
  }

  /** The same attempt is one run, however often it comes. */
  private begin(job: Job): void {
    const known = `${job.id}:${job.attempt}`;
    if (this.seen.has(known)) return;
    this.seen.add(known);
    const run = this.run(job).finally(() => void this.runs.delete(run));
    this.runs.add(run);
  }

  private async run({ id: job, attempt }: Job): Promise<void> {
    const run: Run = { job, attempt, worker: this.id, nonce: `${this.id}:${randomBytes(6).toString('hex')}` };
    this.options.events.push({ type: 'begun', at: Date.now(), ...run });
    await sleep(Math.random() * LONGEST_RUN_MS);
    this.options.events.push({ type: 'ran', at: Date.now(), ...run });
    const report = { job_id: job, attempt, type: 'success', result: run.nonce };
    await ((this.options.batch ?? 1) > 1
      ? this.reportTogether(report)
      : this.call('POST', '/done', () => report));
  }

  private async reportTogether(report: object): Promise<void> {
    for (;;) {
      const status = await new Promise<number>((resolve) => {
        this.waiting.push({ report, resolve });
        if (!this.isSending) void this.sendReports();
      });
      if (status < 500) return;
      await sleep(RETRY_MS);
    }
  }

  private async sendReports(): Promise<void> {
    this.isSending = true;
    await sleep(1);
    while (this.waiting.length > 0) {
      const sent = this.waiting.splice(0, this.options.batch);
      const { body } = await this.call('POST', '/done', () => sent.map(({ report }) => report));
      (body as { status: number }[]).forEach(({ status }, i) => sent[i]?.resolve(status));
    }
    this.isSending = false;
  }

  /** Until it is answered: by whichever master, as a worker that was told of several does. */
  private async call(method: string, path: string, message?: () => unknown): Promise<Reply> {
    for (;;) {
      const reply = await this.once(method, path, message?.()).catch(() => undefined);
      if (reply && reply.status < 500 && reply.status !== 429) return reply;
      await sleep(RETRY_MS);
    }
  }

  private async once(method: string, path: string, message: unknown): Promise<Reply> {
    const { masters } = this.options;
    const url = (masters[this.calls++ % masters.length] ?? '') + path;
    const response = await fetch(url, {
      method,
      headers: this.id === '' ? {} : { 'worker-id': this.id },
      signal: AbortSignal.timeout(REQUEST_MS),
      ...(message === undefined ? {} : { body: encode(message) }),
    });
    const bytes = Buffer.from(await response.arrayBuffer());
    return {
      status: response.status,
      body: bytes.length > 0 ? decode(bytes, { extensionCodec }) : undefined,
    };
  }
}
