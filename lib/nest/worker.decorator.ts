import 'reflect-metadata';
import type { FunctionRef, ReceivedOf, ReturnedOf } from '../job/job-definition.js';
import { functionName } from '../job/job-definition.js';
import { checkOptions, optionNames } from '../job/known-options.js';
import type { HandlerOptions, HandlerResult } from '../worker/job-handler.js';
import { ConfigurationError } from '../job/errors.js';
import { RunningJob } from '../worker/running-job.js';
import { DEFAULT_INSTANCE } from './gearmonkey.options.js';
import { CurrentJob } from './input.decorator.js';
import { annotate } from './metadata.js';

/** What `@Worker` takes: how the method runs its jobs. */
export interface WorkerDecoratorOptions extends HandlerOptions {
  /** The module instance whose jobs this method runs. @default the instance without a name */
  instance?: string;
}

/** What `@Worker` knows of a method. */
export interface WorkerAnnotation {
  readonly ref: FunctionRef;
  readonly instance: string;
  readonly options: HandlerOptions;
  /** Where the method is given the running job: where progress is reported from. */
  readonly jobIndex: number;
}

const KNOWN = optionNames<WorkerDecoratorOptions>({
  concurrency: true,
  retry: true,
  timeout: true,
  jobLimits: true,
  instance: true,
});

export const WORKER_METADATA = 'gearmonkey:worker';

/** Where Nest keeps what parameter decorators say. */
export const PARAMETERS_METADATA = '__routeArguments__';

type AnyMethod = (...args: never[]) => unknown;
type First<M extends AnyMethod> = Parameters<M> extends [infer P, ...unknown[]] ? P : unknown;

/** Whether a property of a `T` may be passed as `P`. */
type PropertyFits<T, P> = T extends readonly unknown[]
  ? false
  : T extends object
    ? true extends { [K in keyof T]-?: [T[K]] extends [P] ? true : false }[keyof T]
      ? true
      : false
    : false;

/** What the compiler names where a method does not fit. */
type Expected<F> = (input: ReceivedOf<F>, job: RunningJob<ReceivedOf<F>>) => HandlerResult<ReturnedOf<F>>;

/** `M` where its first parameter takes what is offered: the input, a property of it, or the running job. */
type Accepts<F, M extends AnyMethod> =
  unknown extends ReceivedOf<F>
    ? M
    : [ReceivedOf<F>] extends [First<M>]
      ? M
      : [RunningJob<ReceivedOf<F>>] extends [First<M>]
        ? M
        : true extends PropertyFits<ReceivedOf<F>, First<M>>
          ? M
          : Expected<F>;

/**
 * The method runs the jobs of a function: `@Worker(resize)` or `@Worker('resize')`. It is called with the
 * input and the RunningJob, or with what its parameter decorators say, inside Nest's guards, pipes,
 * interceptors and filters.
 *
 * A definition ties the types: the method's first parameter must take the input (or, with parameter
 * decorators, a property of it or the RunningJob), and its result must be the output.
 *
 * @see `@Input`, `@CurrentJob`
 */
export function Worker<F extends FunctionRef>(ref: F, options: WorkerDecoratorOptions = {}) {
  return function <M extends (...args: never[]) => HandlerResult<ReturnedOf<F>>>(
    target: object,
    method: string | symbol,
    _descriptor: TypedPropertyDescriptor<M> & TypedPropertyDescriptor<Accepts<F, M>>,
  ): void {
    const { instance = DEFAULT_INSTANCE, ...handler } = checkOptions('@Worker', options, KNOWN);
    functionName(ref);
    const jobIndex = offerJob(target, method);
    annotate(WORKER_METADATA, 'Worker', target, method, {
      ref,
      instance,
      options: handler,
      jobIndex,
    } satisfies WorkerAnnotation);
  };
}

/**
 * A method with parameter decorators gets only what they name, so one more parameter behind them takes
 * the running job; otherwise it is the second argument.
 */
function offerJob(target: object, method: string | symbol): number {
  const parameters = Reflect.getMetadata(PARAMETERS_METADATA, target.constructor, method) as
    Record<string, { index: number }> | undefined;
  if (!parameters) {
    refuseSwapped(target, method);
    return 1;
  }
  const jobIndex = Math.max(...Object.values(parameters).map(({ index }) => index)) + 1;
  CurrentJob()(target, method, jobIndex);
  return jobIndex;
}

/** Other libraries pass the job first. The compiler can't tell, as `@CurrentJob()` may well be there. */
function refuseSwapped(target: object, method: string | symbol): void {
  const types = Reflect.getMetadata('design:paramtypes', target, method) as unknown[] | undefined;
  if (types?.[0] !== RunningJob) return;
  const label = `${target.constructor.name}.${String(method)}`;
  throw new ConfigurationError(
    `${label} takes the RunningJob first, but a handler is called with the input and then the job. ` +
      'Swap them, or say what they are: @CurrentJob() job, @Input() input.',
  );
}
