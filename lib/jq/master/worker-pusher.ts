import { Inject, Injectable, Logger } from '@nestjs/common';
import { isNativeError } from 'node:util/types';
import { Agent, buildConnector } from 'undici';
import type { JqEngine } from '../engine/engine.js';
import type { HandedJob, PushOutcome } from '../engine/operations.js';
import { exchange, ExchangeTimeoutError, type Exchanged } from '../http/exchange.js';
import { pack } from '../message-pack/pack.js';
import { restOf } from '../wire/retry-after.js';
import { signed } from '../wire/signature.js';
import { callbackConnector, CallbackRefusedError } from './callbacks/callback-connector.js';
import { JqMetrics } from './metrics/jq-metrics.js';
import { MASTER_SETTINGS, type MasterSettings } from './master-options.js';
import { workerJob } from './worker-job.js';
import { MESSAGE_PACK } from './media-type.js';

/** What a worker says beyond this is not read. */
const MAX_REPLY_BYTES = 64 * 1024;

/** The request never reached the worker. */
const NOT_SENT = new Set([
  'CALLBACK_NOT_ALLOWED',
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
  'UND_ERR_CONNECT_TIMEOUT',
]);
/** The connection ended. */
const ENDED = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']);

/**
 * Pushes jobs to workers. Each worker's requests have connections of their own, so that a slow one keeps
 * nobody waiting; redirects are not followed.
 */
@Injectable()
export class WorkerPusher {
  private readonly log = new Logger('JqMaster');
  private readonly agent: Agent;
  private readonly underWay = new Set<Promise<void>>();
  /** Errors of connections that had answered before. */
  private readonly reused = new WeakSet<Error>();

  constructor(
    @Inject(MASTER_SETTINGS) private readonly settings: MasterSettings,
    private readonly metrics: JqMetrics,
  ) {
    const { pushTimeout: timeout, callbacks } = settings;
    this.agent = new Agent({
      connect: this.watched(callbackConnector({ timeout, ...callbacks.tls, allowlist: callbacks.allowlist })),
      // The exchange has its own, for connecting as well.
      headersTimeout: 0,
      bodyTimeout: timeout,
    });
  }

  /** Pushes them all, and tells the engine how each ended. */
  pushAll(engine: JqEngine, jobs: readonly HandedJob[]): void {
    for (const job of jobs) {
      const done = this.push(job)
        .then((outcome) => engine.answer(job, outcome))
        // Only a master that shuts down can't tell: then the push's lease runs out.
        .catch(() => undefined)
        .finally(() => this.underWay.delete(done));
      this.underWay.add(done);
    }
  }

  async push(job: HandedJob): Promise<PushOutcome> {
    const begun = performance.now();
    const outcome = await this.attempt(job);
    this.metrics.pushed(outcome.status, performance.now() - begun);
    return outcome;
  }

  /** Resolves when every push has ended and was told. */
  async idle(): Promise<void> {
    while (this.underWay.size > 0) await Promise.all(this.underWay);
  }

  close(): Promise<void> {
    return this.agent.destroy();
  }

  private async attempt(job: HandedJob): Promise<PushOutcome> {
    const body = pack(workerJob(job));
    const begun = performance.now();
    try {
      return await this.send(job, body, this.settings.pushTimeout).catch((error: unknown) => {
        const left = this.settings.pushTimeout - (performance.now() - begun);
        if (left < this.settings.pushTimeout / 2 || !this.isStale(error)) throw error;
        return this.sendAgain(job, body, left);
      });
    } catch (error) {
      if (isRefused(error)) this.log.warn(`A push to worker ${job.worker} was not sent: ${error.message}`);
      return { status: wasNotSent(error) ? 'refused' : 'silent' };
    }
  }

  /** `timeout` is for connecting and the head of the reply together: a push must not outlast its lease. */
  private async send(job: HandedJob, body: Buffer, timeout: number): Promise<PushOutcome> {
    const { secret } = this.settings.callbacks;
    const { origin, pathname } = new URL(job.url);
    const reply = await exchange(this.agent, {
      origin,
      path: `${pathname === '/' ? '' : pathname}/worker-job`,
      method: 'POST',
      headers: { 'content-type': MESSAGE_PACK, ...(secret === undefined ? {} : signed(body, secret)) },
      body,
      headOnly: true,
      timeout,
      maxReplyBytes: MAX_REPLY_BYTES,
    });
    return outcomeOf(reply);
  }

  /** The first try may have been read all the same: that the second can't be sent proves nothing. */
  private sendAgain(job: HandedJob, body: Buffer, timeout: number): Promise<PushOutcome> {
    return this.send(job, body, timeout).catch(() => ({ status: 'silent' }));
  }

  /** Whether a worker may just have closed a connection that had been idle, and know nothing of the push. */
  private isStale(error: unknown): boolean {
    if (!isNativeError(error) || !ENDED.has(codeOf(error))) return false;
    return this.reused.has(error) || bytesReadOf(error) > 0;
  }

  /** A socket's own errors don't say whether it had answered anything. */
  private watched(connect: buildConnector.connector): buildConnector.connector {
    return (target, callback) =>
      connect(target, (...[error, socket]: Parameters<buildConnector.Callback>) => {
        socket?.prependListener('error', (reset) => {
          if (socket.bytesRead > 0) this.reused.add(reset);
        });
        if (error) callback(error, null);
        else if (socket) callback(null, socket);
      });
  }
}

function outcomeOf({ status, headers }: Exchanged): PushOutcome {
  if (status >= 200 && status < 300) return { status: 'accepted' };
  if (status === 404) return { status: 'lacks' };
  if (status === 429 || status === 503) {
    return { status: 'busy', rest: restOf(headers['retry-after'], Date.now()) };
  }
  if (status === 400) return { status: 'invalid', message: 'the worker refused it with 400' };
  return { status: 'broken' };
}

function codeOf(error: Error): string {
  return 'code' in error ? String(error.code) : '';
}

function isRefused(error: unknown): error is CallbackRefusedError {
  return error instanceof CallbackRefusedError;
}

function wasNotSent(error: unknown): boolean {
  if (error instanceof ExchangeTimeoutError) return !error.wasSent;
  if (error instanceof AggregateError) return error.errors.every(wasNotSent);
  return isNativeError(error) && NOT_SENT.has(codeOf(error));
}

/** What the connection of an error had read in its life. */
function bytesReadOf(error: Error): number {
  if (!('socket' in error) || typeof error.socket !== 'object' || !error.socket) return 0;
  return 'bytesRead' in error.socket ? Number(error.socket.bytesRead) : 0;
}
