import { Controller, Delete, Get, HttpCode, HttpStatus, Param, Post } from '@nestjs/common';
import { JqEngine } from '../engine/engine.js';
import { hasEnded, type JobView } from '../engine/operations.js';
import type { Packable } from '../message-pack/pack.js';
import { Raw } from '../message-pack/raw.js';
import { readEnqueue, type EnqueueRequest } from '../wire/requests.js';
import { ClientPolls } from './client-polls.js';
import { jobNotFound, notCancelable, notYet } from './http-errors.js';
import { Client, ClientGone, IdempotencyKey, IsHead, Message, PollTimeout } from './request.decorators.js';
import { ForRole } from './access.guard.js';

/** The routes of pushers. */
@Controller('job')
@ForRole('pusher')
export class JobController {
  constructor(
    private readonly engine: JqEngine,
    private readonly polls: ClientPolls,
  ) {}

  @Post()
  async enqueue(
    @Message(readEnqueue) request: EnqueueRequest,
    @IdempotencyKey() key: string | undefined,
  ): Promise<Packable> {
    return { job_id: await this.engine.enqueue(request, key) };
  }

  @Get(':id')
  async read(@Param('id') id: string, @IsHead() isHead: boolean): Promise<Packable> {
    const view = await this.engine.read(id, isHead ? 'peek' : 'read');
    if (!view) throw jobNotFound();
    return bodyOf(view);
  }

  @Delete(':id')
  @HttpCode(HttpStatus.NO_CONTENT)
  async cancel(@Param('id') id: string): Promise<void> {
    const outcome = await this.engine.cancel(id);
    if (outcome === 'missing') throw jobNotFound();
    if (outcome === 'conflict') throw notCancelable();
  }

  @Get(':id/polling')
  async poll(
    @Param('id') id: string,
    @PollTimeout() timeout: number,
    @ClientGone() gone: AbortSignal,
    @IsHead() isHead: boolean,
    @Client() client: string,
  ): Promise<Packable> {
    const poll = () => this.engine.poll(id, timeout, gone);
    const view = await (isHead ? this.engine.read(id, 'peek') : this.polls.hold(client, poll));
    if (!view) throw jobNotFound();
    if (!hasEnded(view)) throw notYet();
    return bodyOf(view);
  }
}

/** Absent values are left out; only a result may be nil. */
function bodyOf({ status, worker, result, error, message, retryCount }: JobView): Packable {
  return {
    status,
    worker_id: worker,
    result: status === 'done' ? (result ?? Raw.NIL) : undefined,
    error,
    message,
    retry_count: retryCount,
  };
}
