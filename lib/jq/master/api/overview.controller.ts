import { Controller, Delete, Get, HttpCode, HttpStatus, Param } from '@nestjs/common';
import { defined } from '../../../job/defined.js';
import type { Page } from '../../engine/administration.js';
import { JqEngine } from '../../engine/engine.js';
import type { Packable } from '../../message-pack/pack.js';
import { workerNotFound } from '../http-errors.js';
import { ForRole } from '../access.guard.js';
import { nameBody, workerBody } from './bodies.js';
import { Query, readListQuery, writeCursor, type ListQuery } from './query.js';

/** Workers, names and counts. */
@Controller('api')
@ForRole('admin')
export class OverviewController {
  constructor(private readonly engine: JqEngine) {}

  @Get('counts')
  async counts(): Promise<Packable> {
    return { ...(await this.engine.administration.counts()) };
  }

  @Get('names')
  async names(@Query(readListQuery) query: ListQuery): Promise<Packable> {
    const page = await this.engine.administration.names(pageOf(query));
    return { names: page.rows.map(nameBody), cursor: cursorOf(page) };
  }

  @Get('workers')
  async workers(@Query(readListQuery) query: ListQuery): Promise<Packable> {
    const page = await this.engine.administration.workers(pageOf(query));
    return { workers: page.rows.map(workerBody), cursor: cursorOf(page) };
  }

  @Get('workers/:id')
  async worker(@Param('id') id: string): Promise<Packable> {
    const worker = await this.engine.administration.worker(id);
    if (!worker) throw workerNotFound();
    return workerBody(worker);
  }

  /** Removes a worker; its jobs go back as if it had left. */
  @Delete('workers/:id')
  @HttpCode(HttpStatus.NO_CONTENT)
  async forget(@Param('id') id: string): Promise<void> {
    if (!(await this.engine.unregister(id))) throw workerNotFound();
  }
}

function pageOf({ limit, cursor }: ListQuery) {
  return defined({ limit, after: cursor?.after });
}

function cursorOf({ next }: Page<unknown>): string | undefined {
  return next && writeCursor({ after: next });
}
