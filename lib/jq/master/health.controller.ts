import { Controller, Get, ServiceUnavailableException } from '@nestjs/common';
import { JqEngine } from '../engine/engine.js';
import type { Packable } from '../message-pack/pack.js';
import { MasterLifecycle } from './master.lifecycle.js';

const REDIS_TIMEOUT_MS = 1000;

@Controller('health')
export class HealthController {
  constructor(
    private readonly engine: JqEngine,
    private readonly lifecycle: MasterLifecycle,
  ) {}

  /** Whether the process is alive, and nothing else. */
  @Get('live')
  live(): Packable {
    return { status: 'ok' };
  }

  /** Whether to send requests: Redis takes writes, and the master hands out jobs and is not shutting down. */
  @Get('ready')
  async ready(): Promise<Packable> {
    if (this.lifecycle.isDraining) throw new ServiceUnavailableException('The master is shutting down.');
    if (!(await this.engine.answers(REDIS_TIMEOUT_MS))) {
      throw new ServiceUnavailableException('Redis does not answer, or takes no writes.');
    }
    if (!this.engine.isStarted) throw new ServiceUnavailableException('The master hands out no jobs yet.');
    return { status: 'ok' };
  }
}
