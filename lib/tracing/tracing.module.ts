import { Inject, Injectable, Module, type DynamicModule, type OnApplicationShutdown } from '@nestjs/common';
import { InvalidOptionError } from '../job/errors.js';
import { checkOptions, optionNames } from '../job/known-options.js';
import { JobTraces, type TraceRelation } from './job-traces.js';

/** Options of `GearMonkeyTracingModule`. */
export interface TracingModuleOptions {
  /**
   * `link`: each run is a trace of its own, linked with the one in which its job was enqueued. `parent`: it continues that one.
   *
   * @default 'link'
   */
  relation?: TraceRelation;
}

const OPTIONS = Symbol('TracingModuleOptions');
const NAMES = optionNames<Required<TracingModuleOptions>>({ relation: true });

/** All imports of a process share one: two would make two spans of an event. */
let tracing: { readonly traces: JobTraces; readonly users: Set<Tracing> } | undefined;

@Injectable()
class Tracing implements OnApplicationShutdown {
  /** @throws ConfigurationError, InvalidOptionError */
  constructor(@Inject(OPTIONS) options: TracingModuleOptions) {
    const { relation = 'link' } = checkOptions('GearMonkeyTracingModule.forRoot', options, NAMES);
    if (relation !== 'link' && relation !== 'parent')
      throw new InvalidOptionError('relation', relation, "'link' or 'parent'");
    tracing ??= { traces: new JobTraces(relation), users: new Set() };
    tracing.users.add(this);
  }

  onApplicationShutdown(): void {
    if (!tracing?.users.delete(this) || tracing.users.size > 0) return;
    tracing.traces.close();
    tracing = undefined;
  }
}

/**
 * Spans of OpenTelemetry for enqueued jobs and runs of handlers. It uses the global tracer provider, context manager and
 * propagator, which the app sets up; a second import adds nothing.
 */
@Module({})
export class GearMonkeyTracingModule {
  /** Does not throw: with wrong options the app fails to start, with a ConfigurationError or InvalidOptionError. */
  static forRoot(options: TracingModuleOptions = {}): DynamicModule {
    return {
      module: GearMonkeyTracingModule,
      providers: [{ provide: OPTIONS, useValue: options }, Tracing],
    };
  }
}
