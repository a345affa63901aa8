import { Controller, Delete, Get, HttpCode, HttpStatus, Param, Post } from '@nestjs/common';
import { JqEngine } from '../../engine/engine.js';
import type { Packable } from '../../message-pack/pack.js';
import { jobNotFound, notDiscardable, notRetriable } from '../http-errors.js';
import { ForRole } from '../access.guard.js';
import { detailsBody } from './bodies.js';
import { listJobs } from './job-list.js';
import { Query, readJobsQuery, type JobsQuery } from './query.js';

/** Jobs, for people. */
@Controller('api/jobs')
@ForRole('admin')
export class JobsApiController {
  constructor(private readonly engine: JqEngine) {}

  @Get()
  list(@Query(readJobsQuery) query: JobsQuery): Promise<Packable> {
    return listJobs(this.engine.administration, query);
  }

  @Get(':id')
  async read(@Param('id') id: string): Promise<Packable> {
    const job = await this.engine.administration.job(id);
    if (!job) throw jobNotFound();
    return detailsBody(job);
  }

  @Post(':id/retry')
  @HttpCode(HttpStatus.NO_CONTENT)
  async retry(@Param('id') id: string): Promise<void> {
    const change = await this.engine.administration.retry(id);
    if (change === 'missing') throw jobNotFound();
    if (change === 'conflict') throw notRetriable();
  }

  @Delete(':id')
  @HttpCode(HttpStatus.NO_CONTENT)
  async discard(@Param('id') id: string): Promise<void> {
    const change = await this.engine.administration.discard(id);
    if (change === 'missing') throw jobNotFound();
    if (change === 'conflict') throw notDiscardable();
  }
}
