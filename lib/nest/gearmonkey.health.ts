import { Injectable } from '@nestjs/common';
import type { SourceHealth } from '../job/job-source.js';
import { InstanceRegistry } from './instance.registry.js';

/** How one module instance is doing. */
export interface InstanceHealth extends SourceHealth {
  readonly name: string;
}

/** Tells whether the instances of an app reach their servers; for health checks. Injectable everywhere. */
@Injectable()
export class GearMonkeyHealth {
  constructor(private readonly registry: InstanceRegistry) {}

  /** Asks nobody: what is known from the running connections. A source in this process is always connected. */
  check(): InstanceHealth[] {
    return this.registry
      .all()
      .map(({ name, source }) => ({ name, ...(source.health?.() ?? { connected: true }) }));
  }
}
