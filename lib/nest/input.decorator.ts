import { createParamDecorator, type ExecutionContext, type PipeTransform, type Type } from '@nestjs/common';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { RunningJob } from '../worker/running-job.js';

type Pipe = PipeTransform | Type<PipeTransform>;

/** What Nest 12's parameter decorators take. Written out, because Nest 11 has no name for it, and no schemas. */
interface ParameterOptions {
  schema?: StandardSchemaV1;
  pipes?: Pipe[];
}

/**
 * The job's input, or one property of it: `@Input()`, `@Input('width')`, `@Input('width', ParseIntPipe)`.
 * Takes pipes and, with Nest 12, `{ schema }` as Nest's own parameter decorators do.
 */
export const Input: (...dataOrPipes: (string | ParameterOptions | Pipe)[]) => ParameterDecorator =
  createParamDecorator((property: string | undefined, context: ExecutionContext): unknown => {
    const input: unknown = context.getArgByIndex(0);
    if (property === undefined) return input;
    return typeof input === 'object' && input !== null && Object.hasOwn(input, property)
      ? (input as Record<string, unknown>)[property]
      : undefined;
  });

/** The running job: its id, signal, and `update()`. */
export const CurrentJob: (...pipes: Pipe[]) => ParameterDecorator = createParamDecorator(
  (_: unknown, context: ExecutionContext): RunningJob => context.getArgByIndex<RunningJob>(1),
);
