import { Controller, Delete, Get, HttpCode, HttpStatus, Param, Post } from '@nestjs/common';
import { JqEngine } from '../../engine/engine.js';
import type { Packable } from '../../message-pack/pack.js';
import { jobNotFound, notDead } from '../http-errors.js';
import { ForRole } from '../access.guard.js';
import { listJobs } from './job-list.js';
import { Query, readClearQuery, readJobsQuery, type ClearQuery, type JobsQuery } from './query.js';

const readDeadQuery = (query: Readonly<Record<string, unknown>>): JobsQuery =>
  readJobsQuery({ ...query, status: 'error' });

/** Jobs that will not be tried again, until they are forgotten. */
@Controller('api/dead-letters')
@ForRole('admin')
export class DeadLettersController {
  constructor(private readonly engine: JqEngine) {}

  @Get()
  list(@Query(readDeadQuery) query: JobsQuery): Promise<Packable> {
    return listJobs(this.engine.administration, query);
  }

  @Post('requeue')
  @HttpCode(HttpStatus.OK)
  async requeueMany(@Query(readClearQuery) { limit, name }: ClearQuery): Promise<Packable> {
    const { count, more } = await this.engine.administration.requeueDead(limit, name);
    return { count, more };
  }

  @Delete()
  async discardMany(@Query(readClearQuery) { limit, name }: ClearQuery): Promise<Packable> {
    const { count, more } = await this.engine.administration.discardDead(limit, name);
    return { count, more };
  }

  @Post(':id/requeue')
  @HttpCode(HttpStatus.NO_CONTENT)
  async requeue(@Param('id') id: string): Promise<void> {
    const change = await this.engine.administration.retry(id, true);
    if (change === 'missing') throw jobNotFound();
    if (change === 'conflict') throw notDead();
  }

  @Delete(':id')
  @HttpCode(HttpStatus.NO_CONTENT)
  async discard(@Param('id') id: string): Promise<void> {
    const change = await this.engine.administration.discard(id, true);
    if (change === 'missing') throw jobNotFound();
    if (change === 'conflict') throw notDead();
  }
}
