import 'reflect-metadata';
import type { JobEvent, JobProgress } from '../job/job.js';
import type { FunctionRef } from '../job/job-definition.js';
import { optionNames } from '../job/known-options.js';
import type { Configuration, OptionsFactory, OptionsOf } from './configured-options.js';
import { annotate, type Annotation } from './metadata.js';

/** Options of `@OnCreate`, `@OnStart`, `@OnProgress` and `@OnFinish`. */
export interface ObserverDecoratorOptions {
  /** The module instance whose jobs are observed. @default the instance without a name */
  instance?: string;
  /** `false` leaves the observer out. @default true */
  enabled?: boolean;
}

/** What a function of the configuration returns for an observer. */
export interface ConfiguredObserverOptions {
  /** `false` leaves the observer out; text will do, as in an environment. @default true */
  enabled?: boolean | string | undefined;
}

/** What a function that makes options may return. */
export const OBSERVER_OPTIONS = optionNames<ConfiguredObserverOptions>({ enabled: true });
const KNOWN = new Set([...OBSERVER_OPTIONS, 'instance']);

export type Observed = JobEvent['type'] | 'progress';

/** Metadata of an observer method. */
export type ObserverAnnotation = Annotation<{ enabled?: boolean }>;

export function observerMetadata(observed: Observed): string {
  return `gearmonkey:on:${observed}`;
}

type ObserverDecorator<T> = <M extends (message: T) => unknown>(
  target: object,
  method: string | symbol,
  descriptor: TypedPropertyDescriptor<M>,
) => void;

function observer<T>(name: string, observed: Observed) {
  const kind = { name, key: observerMetadata(observed), known: KNOWN };
  return <Config extends Configuration = Configuration>(
      ref: FunctionRef,
      options:
        | ObserverDecoratorOptions
        | OptionsOf<ConfiguredObserverOptions, Config>
        | OptionsFactory<ConfiguredObserverOptions> = {},
    ): ObserverDecorator<T> =>
    (target, method) =>
      annotate<ObserverDecoratorOptions>(kind, target, method, ref, options);
}

/** Calls the method when any client has created a job of the function. */
export const OnCreate = observer<JobEvent>('OnCreate', 'create');

/** Calls the method when any worker has claimed a job of the function. */
export const OnStart = observer<JobEvent>('OnStart', 'start');

/** Calls the method when a job of the function has finished in any process, successfully or not. */
export const OnFinish = observer<JobEvent>('OnFinish', 'finish');

/** Calls the method with every progress update of the function's jobs in any process. */
export const OnProgress = observer<JobProgress>('OnProgress', 'progress');
