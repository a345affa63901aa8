import type { StandardSchemaV1 } from '@standard-schema/spec';
import { defined } from './defined.js';
import { InvalidOptionError } from './errors.js';
import { checkLimit } from './check-limit.js';
import { codecOf, type Codec, type CodecName } from './codec.js';
import { MAX_SPAN_MS, toMilliseconds, type Duration } from './duration.js';
import { checkFunctionName } from './function-name.js';
import { checkOptions, optionNames } from './known-options.js';
import { checkKeep, type Keep, type KeepOptions } from './keep.js';
import type { CodecFor, NotJson } from './json-types.js';
import type { Limit, WithLimit } from './limit.js';
import { recordsOf } from './show-as.js';
import { checkRetry, type RetryOptions } from './retry.js';
import { MAX_STEP_NAME } from './steps.js';
import { checkUnique, type Unique, type UniqueOptions } from './unique.js';

/** How a function's jobs are run. A handler's options override the definition's, a job's own override both. */
export interface RunLimits {
  /** What happens when the handler fails. @default no retry */
  retry?: RetryOptions;
  /** How long one run may take; after this its signal aborts and the attempt fails. @default no limit */
  timeout?: Duration;
}

/** Which steps a handler has. */
export interface StepsOptions {
  /** Text of 1 to 100 characters. Change it with the names or the order of the steps. */
  version: string;
}

/** Options of a definition. */
export interface DefinitionOptions<Input = unknown> extends RunLimits, WithLimit<Input> {
  /** How input and output are encoded. @default the module's codec, which is `json` by default */
  codec?: CodecName | Codec;
  /** How long a job may wait until it is begun, counted from when it may run. @default forever */
  expires?: Duration;
  /** How long its ended jobs can be read. @default the module's `keep` */
  keep?: KeepOptions;
  /** What the steps of its handler are called now: jobs that began with another version begin their steps anew. */
  steps?: StepsOptions;
  /** Which job stands for a new one of the same key. @default each call creates a job */
  unique?: UniqueOptions<Input>;
}

/**
 * A function's name tied to the types of its payloads.
 *
 * `Input` is what clients pass, `Received` what handlers get (they differ where a schema transforms),
 * `Returned` what handlers return, `Output` what clients read. `Chunk` is what handlers stream.
 */
export interface JobDefinition<
  Input = unknown,
  Output = unknown,
  Received = Input,
  Returned = Output,
  Chunk = unknown,
> {
  readonly name: string;
  readonly codec?: Codec;
  readonly retry?: RetryOptions;
  /** Milliseconds. */
  readonly timeout?: number;
  /** Milliseconds. */
  readonly expires?: number;
  readonly limit?: Limit;
  readonly unique?: Unique;
  readonly keep?: Keep;
  readonly steps?: { readonly version: string };
  readonly input?: StandardSchemaV1;
  readonly output?: StandardSchemaV1;
  /** Only carries the types: it does not exist at run time. */
  readonly types?: { input: Input; output: Output; received: Received; returned: Returned; chunk: Chunk };
}

/** A definition of any types. */
// The parameters are used in both directions, so only a wide type covers all definitions.
export interface AnyJobDefinition extends Omit<JobDefinition, 'types'> {
  readonly types?: {
    input: unknown;
    output: unknown;
    received: unknown;
    returned: unknown;
    chunk: unknown;
  };
}

/** What `defineJob` takes when schemas give the types. */
export interface SchemaOptions<
  I extends StandardSchemaV1,
  O extends StandardSchemaV1,
> extends DefinitionOptions<StandardSchemaV1.InferInput<I>> {
  /** Checks the input before it is enqueued, and again before the handler. */
  input: I;
  /** Checks the handler's result. */
  output?: O;
}

const KNOWN = optionNames<Required<SchemaOptions<StandardSchemaV1, StandardSchemaV1>>>({
  input: true,
  output: true,
  codec: true,
  retry: true,
  timeout: true,
  expires: true,
  limit: true,
  unique: true,
  keep: true,
  steps: true,
});

const STEPS = optionNames<Required<StepsOptions>>({ version: true });

/** The last argument. If JSON would change the types, a codec is required. */
type OptionsFor<Input, Output, Chunk> =
  unknown extends CodecFor<Input, Output, Chunk>
    ? [options?: PlainOptions<Input>]
    : [optionsWithACodecThatKeepsWhatJsonDoesNot: PlainOptions<Input> & CodecFor<Input, Output, Chunk>];

/** Schemas are long, so only the name of their library is shown. */
const asDefinition = recordsOf<JobDefinition>(
  'JobDefinition',
  ({ name, codec, retry, timeout, expires, limit, unique, keep, steps, input, output }) =>
    defined({
      name,
      codec: codec?.name,
      retry,
      timeout,
      expires,
      limit,
      unique: unique?.rule,
      keep,
      steps,
      input: input?.['~standard'].vendor,
      output: output?.['~standard'].vendor,
    }),
);

/** Its key is what the compiler shows. */
interface JsonDoesNotKeepThisTypeSoAddACodec<Input, Output, Chunk> {
  'JSON does not keep this type: add { codec: "msgpack" } for dates and bytes, or a Codec of your own':
    NotJson<Input> | NotJson<Output> | NotJson<Chunk>;
}

type PlainOptions<Input> = DefinitionOptions<Input> & { input?: never; output?: never };

/**
 * Defines a job and its types, by type arguments (input, output, and the chunks that its handler streams) or by schemas of
 * any Standard Schema library (zod, valibot …). Schemas are also checked when a job is enqueued and when it runs. Types that JSON changes, such as Date, need a
 * codec that keeps them: `{ codec: 'msgpack' }`, or a `Codec`.
 *
 * @throws InvalidFunctionNameError, ConfigurationError, InvalidOptionError
 */
export function defineJob<Input = unknown, Output = unknown, Chunk = unknown>(
  name: string,
  ...options: OptionsFor<Input, Output, Chunk>
): JobDefinition<Input, Output, Input, Output, Chunk>;
export function defineJob<
  I extends StandardSchemaV1,
  O extends StandardSchemaV1 = StandardSchemaV1<unknown, unknown>,
>(
  name: string,
  options: SchemaOptions<I, O> & CodecFor<StandardSchemaV1.InferInput<I>, StandardSchemaV1.InferOutput<O>>,
): JobDefinition<
  StandardSchemaV1.InferInput<I>,
  StandardSchemaV1.InferOutput<O>,
  StandardSchemaV1.InferOutput<I>,
  StandardSchemaV1.InferInput<O>
>;
/** Only says what is wrong with types that JSON does not keep. */
export function defineJob<Input, Output = unknown, Chunk = unknown>(
  name: JsonDoesNotKeepThisTypeSoAddACodec<Input, Output, Chunk>,
): never;
export function defineJob(
  name: unknown,
  options: DefinitionOptions & { input?: StandardSchemaV1; output?: StandardSchemaV1 } = {},
): JobDefinition {
  const { codec, input, output, retry, timeout, expires, limit, unique, keep, steps } = checkOptions(
    'defineJob',
    options,
    KNOWN,
  );
  const fn = checkFunctionName(name);
  return Object.freeze(
    asDefinition(
      defined({
        name: fn,
        codec: codec === undefined ? undefined : codecOf(codec),
        retry: retry === undefined ? undefined : checkRetry(retry),
        timeout: timeout === undefined ? undefined : toMilliseconds('timeout', timeout),
        expires:
          expires === undefined ? undefined : toMilliseconds('expires', expires, { most: MAX_SPAN_MS }),
        limit: limit === undefined ? undefined : checkLimit(fn, limit),
        unique: unique === undefined ? undefined : checkUnique(unique),
        keep: keep === undefined ? undefined : checkKeep(keep),
        steps: steps === undefined ? undefined : checkSteps(steps),
        input,
        output,
      }),
    ),
  );
}

/** @throws ConfigurationError, InvalidOptionError */
function checkSteps(steps: StepsOptions): { readonly version: string } {
  const { version } = checkOptions('steps', steps, STEPS);
  if (typeof version !== 'string' || version.length === 0 || version.length > MAX_STEP_NAME)
    throw new InvalidOptionError('steps.version', version, `text of 1 to ${MAX_STEP_NAME} characters`);
  return { version };
}

/** A definition, or only the name of a function. */
export type FunctionRef = AnyJobDefinition | string;

type TypesOf<F> = F extends { types?: infer T } ? NonNullable<T> : never;
type TypeOf<F, K> = F extends string
  ? unknown
  : TypesOf<F> extends { [key in K & string]: infer V }
    ? V
    : unknown;

/** What clients pass to this function. */
export type InputOf<F> = TypeOf<F, 'input'>;
/** What clients read from this function. */
export type OutputOf<F> = TypeOf<F, 'output'>;
/** What a handler of this function gets. */
export type ReceivedOf<F> = TypeOf<F, 'received'>;
/** What a handler of this function streams. */
export type ChunkOf<F> = TypeOf<F, 'chunk'>;
/** What a handler of this function returns. */
export type ReturnedOf<F> = TypeOf<F, 'returned'>;

/** The function's name, checked. @throws InvalidFunctionNameError */
export function functionName(ref: FunctionRef): string {
  return checkFunctionName(typeof ref === 'string' ? ref : (ref as AnyJobDefinition | null)?.name);
}
