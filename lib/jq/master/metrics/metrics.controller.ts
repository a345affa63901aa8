import { Controller, Get, NotFoundException, Res } from '@nestjs/common';
import type { ServerResponse } from 'node:http';
import { JqEngine } from '../../engine/engine.js';
import { EngineUnavailableError } from '../../engine/engine-errors.js';
import { SAFE_HEADERS } from '../safe-headers.js';
import { ForRole } from '../access.guard.js';
import { JqMetrics } from './jq-metrics.js';

@Controller('metrics')
@ForRole('metrics')
export class MetricsController {
  constructor(
    private readonly engine: JqEngine,
    private readonly metrics: JqMetrics,
  ) {}

  /** Works without Redis too, and shows that it is missing. */
  @Get()
  async read(@Res() response: ServerResponse): Promise<void> {
    const counts = await this.engine.administration.counts().catch((error: unknown) => {
      if (error instanceof EngineUnavailableError) return undefined;
      throw error;
    });
    const metrics = await this.metrics.text(counts);
    if (!metrics) throw new NotFoundException('This master keeps no metrics.');
    response.writeHead(200, { 'content-type': metrics.contentType, ...SAFE_HEADERS }).end(metrics.text);
  }
}
