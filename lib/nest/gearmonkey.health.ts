import { Injectable } from '@nestjs/common';
import { withDeadline } from '../job/deadline.js';
import { toMilliseconds, type Duration } from '../job/duration.js';
import { messageOf } from '../job/errors.js';
import type { Health } from '../job/health.js';
import type { JobSource } from '../job/job-source.js';
import { ConnectionError } from '../job/server-errors.js';
import { InstanceRegistry } from './instance.registry.js';
import { showAs } from '../job/show-as.js';

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
    return this.registry
      .all()
      .map(({ name, source }) => ({ name, ...(source.health?.() ?? { connected: true }) }));
  }

  /**
   * Asks each server, and connects first if needed. Use it in apps that only enqueue: `check` calls them unhealthy
   * before their first job. Never rejects.
   *
   * @param timeout @default '1s'
   */
  async ping(timeout: Duration = '1s'): Promise<InstanceHealth[]> {
    const limit = toMilliseconds('timeout', timeout);
    return Promise.all(this.registry.all().map(({ name, source }) => ping(name, source, limit)));
  }
}

async function ping(name: string, source: JobSource, timeout: number): Promise<InstanceHealth> {
  const late = () => new ConnectionError('The server did not answer', `not within ${timeout} ms`);
  try {
    await withDeadline(source.reach?.(timeout) ?? Promise.resolve(), timeout, late);
    return { name, ...(source.health?.() ?? { connected: true }) };
  } catch (error) {
    return { name, ...source.health?.(), connected: false, problem: messageOf(error) };
  }
}
