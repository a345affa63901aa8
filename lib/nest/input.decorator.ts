import {
  Body,
  createParamDecorator,
  type ExecutionContext,
  type PipeTransform,
  type Type,
} from '@nestjs/common';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { RunningJob } from '../worker/running-job.js';

/** A pipe or its class. */
export type InputPipe = PipeTransform | Type<PipeTransform>;

/** Options of Nest 12's parameter decorators. Declared here, because Nest 11 has no such type and no schemas. */
export interface InputOptions {
  schema?: StandardSchemaV1;
  pipes?: InputPipe[];
}

/**
 * The job's input, or one property of it: `@Input()`, `@Input('width')`, `@Input('width', ParseIntPipe)`.
 * It works like `@Body` of a request: it takes pipes and, with Nest 12, `{ schema }`, and pipes such as ValidationPipe
 * treat it as a body. With the input's type, as in `@Input<Size>('width')`, the compiler checks the property.
 */
export const Input = <T extends object = Record<string, unknown>>(
  ...dataOrPipes: ((keyof T & string) | InputOptions | InputPipe)[]
): ParameterDecorator => (Body as (...args: typeof dataOrPipes) => ParameterDecorator)(...dataOrPipes);

/** Reads the value of `@Input(property)`. */
export function inputOf(input: unknown, property: string | undefined): unknown {
  if (property === undefined) return input;
  return typeof input === 'object' && input !== null && Object.hasOwn(input, property)
    ? (input as Record<string, unknown>)[property]
    : undefined;
}

/** The running job: its id, signal, and `update()`. */
export const CurrentJob: (...pipes: InputPipe[]) => ParameterDecorator = createParamDecorator(
  (_: unknown, context: ExecutionContext): RunningJob => context.getArgByIndex<RunningJob>(1),
);
