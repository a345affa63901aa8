import type { StandardSchemaV1 } from '@standard-schema/spec';
import { ValidationError, type ValidationIssue } from './errors.js';

/**
 * Validates a value; returns what the schema makes of it.
 *
 * @throws ValidationError
 */
export async function validate(
  schema: StandardSchemaV1 | undefined,
  fn: string,
  what: 'input' | 'output',
  value: unknown,
): Promise<unknown> {
  if (!schema) return value;
  const result = await schema['~standard'].validate(value);
  if (result.issues) throw new ValidationError(fn, what, result.issues.map(toIssue));
  return result.value;
}

function toIssue({ message, path }: StandardSchemaV1.Issue): ValidationIssue {
  const keys = path?.map((segment) => String(typeof segment === 'object' ? segment.key : segment));
  return { message, path: keys?.join('.') ?? '' };
}
