import 'reflect-metadata';
import type { FunctionRef, InputOf, ReceivedOf, ReturnedOf, ChunkOf } from '../job/job-definition.js';
import { optionNames } from '../job/known-options.js';
import type { BatchOptions } from '../worker/batch.js';
import type { BatchResult, HandlerOptions, HandlerResult } from '../worker/job-handler.js';
import { ConfigurationError } from '../job/errors.js';
import { RunningJob } from '../worker/running-job.js';
import type { Configuration, OptionsFactory, OptionsOf } from './configured-options.js';
import { CurrentJob } from './input.decorator.js';
import { annotate, type Annotation } from './metadata.js';

/** Options of `@Worker`. */
export interface WorkerDecoratorOptions<Input = unknown> extends HandlerOptions<Input> {
  /** The module instance whose jobs this method runs. @default the instance without a name */
  instance?: string;
  /** `false` leaves the handler out. @default true */
  enabled?: boolean;
}

/** What a function of the configuration returns for `@Worker`. Numbers and booleans may be text, as in an environment. */
export interface ConfiguredWorkerOptions<Input = unknown> extends Omit<HandlerOptions<Input>, 'concurrency'> {
  /** How many jobs of this function run at the same time in this process. @default 1 */
  concurrency?: number | string | undefined;
  /** `false` leaves the handler out. @default true */
  enabled?: boolean | string | undefined;
}

/** Metadata of a `@Worker` method. */
export interface WorkerAnnotation extends Annotation<HandlerOptions & { enabled?: boolean }> {
  /** Index of the parameter that gets the running job. */
  readonly jobIndex: number;
}

/** What a function that makes options may return. */
export const HANDLER_OPTIONS = optionNames<ConfiguredWorkerOptions>({
  concurrency: true,
  batch: true,
  retry: true,
  timeout: true,
  jobLimits: true,
  limit: true,
  enabled: true,
});

export const WORKER_METADATA = 'gearmonkey:worker';
const KIND = { name: 'Worker', key: WORKER_METADATA, known: new Set([...HANDLER_OPTIONS, 'instance']) };

/** Nest's metadata key of parameter decorators. */
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

/** The expected type that the compiler shows if a method does not fit. */
type Expected<F> = (
  input: ReceivedOf<F>,
  job: RunningJob<ReceivedOf<F>>,
) => HandlerResult<ReturnedOf<F>, ChunkOf<F>>;

/** `M` if its first parameter accepts the input, a property of it, or the running job. */
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

/** The expected type of a method with `batch`. */
type ExpectedBatch<F> = (
  inputs: ReceivedOf<F>[],
  jobs: RunningJob<ReceivedOf<F>>[],
) => BatchResult<ReturnedOf<F>>;

/** `M` if its first parameter accepts the inputs of a batch, or the running jobs. */
type AcceptsBatch<F, M extends AnyMethod> = [ReceivedOf<F>[]] extends [First<M>]
  ? M
  : [RunningJob<ReceivedOf<F>>[]] extends [First<M>]
    ? M
    : ExpectedBatch<F>;

/** Any options of `@Worker`, `And` what tells a batch handler from others. */
type AnyOptions<F extends FunctionRef, Config extends Configuration, And> =
  | (WorkerDecoratorOptions<InputOf<F>> & And)
  | OptionsOf<ConfiguredWorkerOptions<InputOf<F>> & And, Config>
  | OptionsFactory<ConfiguredWorkerOptions<InputOf<F>> & And>;

/**
 * Makes the method run jobs of a function: `@Worker(resize)` or `@Worker('resize')`. It is called with the input and the
 * RunningJob, or with the values of its parameter decorators. Nest's guards, pipes, interceptors and filters apply.
 *
 * With a definition the types are checked: the method's first parameter must accept the input (or, with parameter
 * decorators, a property of it or the RunningJob), and its result must be the output.
 *
 * Options that depend on the configuration are made when the app starts, by a function of its ConfigService, or by a
 * factory that injects something else.
 *
 * @see `@Input`, `@CurrentJob`
 */
export function Worker<F extends FunctionRef, Config extends Configuration = Configuration>(
  ref: F,
  options?: AnyOptions<F, Config, { batch?: undefined }>,
): <M extends (...args: never[]) => HandlerResult<ReturnedOf<F>, ChunkOf<F>>>(
  target: object,
  method: string | symbol,
  descriptor: TypedPropertyDescriptor<M> & TypedPropertyDescriptor<Accepts<F, M>>,
) => void;
export function Worker<F extends FunctionRef, Config extends Configuration = Configuration>(
  ref: F,
  options: AnyOptions<F, Config, { batch: BatchOptions }>,
): <M extends (...args: never[]) => BatchResult<ReturnedOf<F>>>(
  target: object,
  method: string | symbol,
  descriptor: TypedPropertyDescriptor<M> & TypedPropertyDescriptor<AcceptsBatch<F, M>>,
) => void;
export function Worker(ref: FunctionRef, options: AnyOptions<FunctionRef, Configuration, unknown> = {}) {
  return function (target: object, method: string | symbol): void {
    const jobIndex = offerJob(target, method);
    annotate<WorkerDecoratorOptions>(KIND, target, method, ref, options, { jobIndex });
  };
}

/**
 * A method with parameter decorators gets only what they name, so another parameter is added for the running job.
 * Otherwise it is the second argument.
 */
export function offerJob(target: object, method: string | symbol): number {
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

/** Other libraries pass the job first. The compiler can't detect this, because `@CurrentJob()` may be there. */
function refuseSwapped(target: object, method: string | symbol): void {
  const types = Reflect.getMetadata('design:paramtypes', target, method) as unknown[] | undefined;
  if (types?.[0] !== RunningJob) return;
  const label = `${target.constructor.name}.${String(method)}`;
  throw new ConfigurationError(
    `${label} takes the RunningJob first, but a handler gets the input first and the job second. ` +
      'Swap them, or use decorators: @CurrentJob() job, @Input() input.',
  );
}
