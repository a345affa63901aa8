import { Controller, Delete, HttpCode, HttpStatus, Inject, Post, Res } from '@nestjs/common';
import type { ServerResponse } from 'node:http';
import { JqEngine } from '../engine/engine.js';
import type { Packable } from '../message-pack/pack.js';
import { MAX_BATCH, MAX_BATCH_BYTES, type Element, type Verdict } from '../wire/batch.js';
import {
  readDone,
  readHandOut,
  readRegister,
  type DoneRequest,
  type HandOut,
  type PullCount,
  type RegisterRequest,
} from '../wire/requests.js';
import { CallbackRefusedError } from './callbacks/callback-connector.js';
import { errorVerdict } from './error-reply.js';
import { ClientPolls } from './client-polls.js';
import { MASTER_SETTINGS, type MasterSettings } from './master-options.js';
import { workerJob } from './worker-job.js';
import { jobNotFound, reportRefused, tooMany, workerNotFound } from './http-errors.js';
import {
  Client,
  ClientGone,
  IdempotencyKey,
  Message,
  MessageOrBatch,
  PollTimeout,
  Pulls,
  WorkerId,
  type OneOrBatch,
} from './request.decorators.js';
import { ForRole } from './access.guard.js';

/** The routes of workers. */
@Controller()
@ForRole('worker')
export class WorkerController {
  constructor(
    private readonly engine: JqEngine,
    @Inject(MASTER_SETTINGS) private readonly settings: MasterSettings,
    private readonly polls: ClientPolls,
  ) {}

  /** First, because routes are tried in order and every job is reported here. */
  @Post('done')
  @HttpCode(HttpStatus.NO_CONTENT)
  async done(
    @WorkerId() worker: string,
    @MessageOrBatch(readDone) reports: OneOrBatch<DoneRequest>,
    @Res({ passthrough: true }) response: ServerResponse,
  ): Promise<Packable | undefined> {
    if (!isBatch(reports)) return void (await this.take(worker, reports));
    response.statusCode = HttpStatus.OK;
    return Promise.all(reports.map((report) => this.judge(worker, report)));
  }

  @Post('worker')
  async register(
    @Message(readRegister) request: RegisterRequest,
    @Client() client: string,
    @IdempotencyKey() key: string | undefined,
  ): Promise<Packable> {
    this.checkCallback(request);
    const worker = await this.engine.register(request, client, key);
    if (worker === undefined) throw tooMany('workers');
    return { worker_id: worker, ...this.batchFor(request) };
  }

  @Delete('worker')
  @HttpCode(HttpStatus.NO_CONTENT)
  async unregister(@WorkerId() worker: string): Promise<void> {
    if (!(await this.engine.unregister(worker))) throw workerNotFound();
  }

  @Post('worker/ping')
  @HttpCode(HttpStatus.NO_CONTENT)
  async ping(@WorkerId() worker: string): Promise<void> {
    if (!(await this.engine.ping(worker))) throw workerNotFound();
  }

  /** A job, or 204 if there was none in time. */
  @Post('worker/pull')
  @HttpCode(HttpStatus.OK)
  async pull(
    @WorkerId() worker: string,
    @PollTimeout() timeout: number,
    @Pulls() count: PullCount,
    @ClientGone() gone: AbortSignal,
    @Client() client: string,
    @Res({ passthrough: true }) response: ServerResponse,
  ): Promise<Packable | undefined> {
    const job = await this.polls.hold(client, () => this.engine.pull(worker, timeout, gone, count));
    if (job === 'unknown worker') throw workerNotFound();
    if (!job) {
      response.statusCode = HttpStatus.NO_CONTENT;
      return undefined;
    }
    // One that is counted may have been answered already, by another sending of it: the worker's next pull says.
    if (gone.aborted && count.pull === 0) await this.engine.answer(job, { status: 'undelivered' });
    return workerJob(job);
  }

  /** Puts back a job that was not begun. */
  @Post('worker/release')
  @HttpCode(HttpStatus.NO_CONTENT)
  async release(@WorkerId() worker: string, @Message(readHandOut) request: HandOut): Promise<void> {
    if (!(await this.engine.release(worker, request))) throw reportRefused();
  }

  /** For a worker that has read a job late: says whether it may begin it. */
  @Post('worker/confirm')
  @HttpCode(HttpStatus.NO_CONTENT)
  async confirm(@WorkerId() worker: string, @Message(readHandOut) request: HandOut): Promise<void> {
    if (!(await this.engine.confirm(worker, request))) throw reportRefused();
  }

  private async judge(worker: string, report: Element<DoneRequest>): Promise<Verdict> {
    try {
      if ('error' in report) return errorVerdict(report.error);
      await this.take(worker, report.value);
      return { status: HttpStatus.NO_CONTENT };
    } catch (error) {
      return errorVerdict(error);
    }
  }

  private async take(worker: string, report: DoneRequest): Promise<void> {
    const outcome = await this.engine.done(worker, report);
    if (outcome === 'unknown worker') throw workerNotFound();
    if (outcome === 'unknown job') throw jobNotFound();
    if (outcome === 'conflict') throw reportRefused();
  }

  /** Sent only to workers that know batches. */
  private batchFor({ batch }: RegisterRequest): { readonly batch?: number } {
    return batch === undefined || this.settings.maxBodyBytes < MAX_BATCH_BYTES ? {} : { batch: MAX_BATCH };
  }

  private checkCallback({ url }: RegisterRequest): void {
    if (url === undefined) return;
    const { hostname } = new URL(url);
    if (!this.settings.callbacks.rule.admitsHost(hostname)) throw new CallbackRefusedError(hostname);
  }
}

function isBatch<T extends object>(body: OneOrBatch<T>): body is readonly Element<T>[] {
  return Array.isArray(body);
}
