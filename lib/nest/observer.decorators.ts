import 'reflect-metadata';
import type { JobEvent, JobProgress } from '../job/job.js';
import { functionName, type FunctionRef } from '../job/job-definition.js';
import { checkOptions, optionNames } from '../job/known-options.js';
import { DEFAULT_INSTANCE } from './gearmonkey.options.js';
import { annotate } from './metadata.js';

/** What `@OnCreate`, `@OnStart`, `@OnProgress` and `@OnFinish` take. */
export interface ObserverDecoratorOptions {
  /** The module instance whose jobs are observed. @default the instance without a name */
  instance?: string;
}

const KNOWN = optionNames<ObserverDecoratorOptions>({ instance: true });

export type Observed = JobEvent['type'] | 'progress';

/** What an observer's decorator knows of a method. */
export interface ObserverAnnotation {
  readonly ref: FunctionRef;
  readonly instance: string;
}

export function observerMetadata(observed: Observed): string {
  return `gearmonkey:on:${observed}`;
}

type ObserverDecorator<T> = <M extends (message: T) => unknown>(
  target: object,
  method: string | symbol,
  descriptor: TypedPropertyDescriptor<M>,
) => void;

function observer<T>(decorator: string, observed: Observed) {
  return (ref: FunctionRef, options: ObserverDecoratorOptions = {}): ObserverDecorator<T> =>
    (target, method) => {
      const { instance = DEFAULT_INSTANCE } = checkOptions(`@${decorator}`, options, KNOWN);
      functionName(ref);
      annotate(observerMetadata(observed), decorator, target, method, {
        ref,
        instance,
      } satisfies ObserverAnnotation);
    };
}

/** The method is called when a job of the function was created, by any client. */
export const OnCreate = observer<JobEvent>('OnCreate', 'create');

/** The method is called when a worker has taken a job of the function, in any process. */
export const OnStart = observer<JobEvent>('OnStart', 'start');

/** The method is called when a job of the function has finished, successfully or not, in any process. */
export const OnFinish = observer<JobEvent>('OnFinish', 'finish');

/** The method is called with every progress update of the function's jobs, in any process. */
export const OnProgress = observer<JobProgress>('OnProgress', 'progress');
