import 'reflect-metadata';
import type { JobEvent, JobProgress } from '../job/job.js';
import { functionName, type FunctionRef } from '../job/job-definition.js';
import { checkOptions, optionNames } from '../job/known-options.js';
import { DEFAULT_INSTANCE } from './gearmonkey.options.js';
import { annotate } from './metadata.js';

/** Options of `@OnCreate`, `@OnStart`, `@OnProgress` and `@OnFinish`. */
export interface ObserverDecoratorOptions {
  /** The module instance whose jobs are observed. @default the instance without a name */
  instance?: string;
}

const KNOWN = optionNames<ObserverDecoratorOptions>({ instance: true });

export type Observed = JobEvent['type'] | 'progress';

/** Metadata of an observer method. */
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

/** Calls the method when any client has created a job of the function. */
export const OnCreate = observer<JobEvent>('OnCreate', 'create');

/** Calls the method when any worker has claimed a job of the function. */
export const OnStart = observer<JobEvent>('OnStart', 'start');

/** Calls the method when a job of the function has finished in any process, successfully or not. */
export const OnFinish = observer<JobEvent>('OnFinish', 'finish');

/** Calls the method with every progress update of the function's jobs in any process. */
export const OnProgress = observer<JobProgress>('OnProgress', 'progress');
