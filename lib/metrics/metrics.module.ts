import { Inject, Injectable, Module, type DynamicModule, type OnApplicationShutdown } from '@nestjs/common';
import { register, type Registry } from 'prom-client';
import { checkWhole } from '../job/check-whole.js';
import { checkOptions, optionNames } from '../job/known-options.js';
import { GearMonkeyCoreModule } from '../nest/gearmonkey.module.js';
import { InstanceRegistry } from '../nest/instance.registry.js';
import { FunctionLabels } from './function-labels.js';
import { JobMetrics } from './job-metrics.js';
import type { MetricsText } from './prometheus.js';
import { QueueMetrics } from './queue-metrics.js';

/** Options of `GearMonkeyMetricsModule`. */
export interface MetricsModuleOptions {
  /** Where the metrics are registered. @default prom-client's `register` */
  registry?: Registry;
  /** How many functions have a label of their own; further ones share `other`. @default 100 */
  functions?: number;
}

const OPTIONS = Symbol('MetricsModuleOptions');
const NAMES = optionNames<Required<MetricsModuleOptions>>({ registry: true, functions: true });
const MOST_FUNCTIONS = 100;

interface Shared {
  readonly jobs: JobMetrics;
  readonly queues: QueueMetrics;
}

/** One for each registry, which refuses a second metric of a name. */
const shared = new WeakMap<Registry, Shared>();

/** The metrics of this process and the queues of this app. Inject it to serve them. */
@Injectable()
export class GearMonkeyMetrics implements OnApplicationShutdown {
  /** Where the metrics are registered. */
  readonly registry: Registry;

  /** @internal @throws ConfigurationError, InvalidOptionError */
  constructor(
    @Inject(OPTIONS) options: MetricsModuleOptions,
    @Inject(InstanceRegistry) private readonly app: InstanceRegistry,
  ) {
    const { registry = register, functions = MOST_FUNCTIONS } = checkOptions(
      'GearMonkeyMetricsModule.forRoot',
      options,
      NAMES,
    );
    checkWhole('functions', functions, 1);
    this.registry = registry;
    let metrics = shared.get(registry);
    if (!metrics) {
      const labels = new FunctionLabels(functions);
      metrics = { jobs: new JobMetrics(registry, labels), queues: new QueueMetrics(registry, labels) };
      shared.set(registry, metrics);
    }
    metrics.queues.add(app);
  }

  /** All metrics of the registry, for the reply to a scrape. */
  async read(): Promise<MetricsText> {
    return { contentType: this.registry.contentType, text: await this.registry.metrics() };
  }

  /** The last app of a registry takes the metrics off it. Nest calls this. */
  onApplicationShutdown(): void {
    const metrics = shared.get(this.registry);
    metrics?.queues.remove(this.app);
    if (!metrics?.queues.isUnused) return;
    metrics.jobs.close();
    metrics.queues.close();
    shared.delete(this.registry);
  }
}

/** Metrics of jobs for Prometheus, made with prom-client. Import it beside `GearMonkeyModule`; a second import adds nothing. */
@Module({})
export class GearMonkeyMetricsModule {
  /** Does not throw: with wrong options the app fails to start, with a ConfigurationError or InvalidOptionError. */
  static forRoot(options: MetricsModuleOptions = {}): DynamicModule {
    return {
      module: GearMonkeyMetricsModule,
      imports: [GearMonkeyCoreModule],
      providers: [{ provide: OPTIONS, useValue: options }, GearMonkeyMetrics],
      exports: [GearMonkeyMetrics],
    };
  }
}
