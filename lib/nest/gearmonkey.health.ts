import { Injectable } from '@nestjs/common';
import type { Duration } from '../job/duration.js';
import type { Health } from '../job/health.js';
import { InstanceRegistry } from './instance.registry.js';
import { showAs } from '../job/show-as.js';
import { healthOf, pingSource } from './source-health.js';

/** Health of one module instance. */
export interface InstanceHealth extends Health {
  readonly name: string;
}

/** Tells whether the instances of an app are connected to their servers. Inject it anywhere, for health checks. */
@Injectable()
export class GearMonkeyHealth {
  static {
    showAs(GearMonkeyHealth, (health) => ({ instances: health.check() }));
  }

  /** @internal */
  constructor(private readonly registry: InstanceRegistry) {}

  /** The state of the open connections, without a request. A source in this process is always connected. */
  check(): InstanceHealth[] {
    return this.registry.all().map(({ name, source }) => ({ name, ...healthOf(source) }));
  }

  /**
   * Asks each server, and connects first if needed. Use it in apps that only enqueue: `check` calls them unhealthy
   * before their first job. Never rejects.
   *
   * @param timeout @default '1s'
   */
  async ping(timeout: Duration = '1s'): Promise<InstanceHealth[]> {
    const instances = this.registry.all().map(async ({ name, source }) => ({
      name,
      ...(await pingSource(source, timeout)),
    }));
    return Promise.all(instances);
  }
}
