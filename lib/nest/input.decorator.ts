import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { RunningJob } from '../worker/running-job.js';

/**
 * The job's input, or one property of it: `@Input()`, `@Input('width')`, `@Input('width', ParseIntPipe)`.
 * Takes pipes and `{ schema }` as Nest's own parameter decorators do.
 */
export const Input = createParamDecorator(
  (property: string | undefined, context: ExecutionContext): unknown => {
    const input: unknown = context.getArgByIndex(0);
    if (property === undefined) return input;
    return typeof input === 'object' && input !== null && Object.hasOwn(input, property)
      ? (input as Record<string, unknown>)[property]
      : undefined;
  },
);

/** The running job: its id, signal, and `update()`. */
export const CurrentJob = createParamDecorator((_: unknown, context: ExecutionContext): RunningJob =>
  context.getArgByIndex<RunningJob>(1),
);
