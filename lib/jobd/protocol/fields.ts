import { RequestError } from '../vocabulary/errors.js';

type FieldType = 'string' | 'number' | 'integer' | 'object' | 'array';

/** A rule for a field of a received object. */
export interface FieldRule {
  readonly name: string;
  /** @default any */
  readonly types?: readonly FieldType[];
  readonly required?: boolean;
}

const IS: Record<FieldType, (value: unknown) => boolean> = {
  string: (value) => typeof value === 'string',
  number: (value) => typeof value === 'number',
  integer: Number.isInteger,
  // As by `typeof`, null is an object too.
  object: (value) => typeof value === 'object',
  array: Array.isArray,
};

/**
 * The fields of a valid object, in the order of the rules.
 *
 * @throws RequestError with the protocol's text for the first rule that is broken
 */
export function checkFields(data: unknown, rules: readonly FieldRule[]): Record<string, unknown> {
  if (typeof data !== 'object' || data === null) throw new RequestError('data is not an object');
  const fields = data as Record<string, unknown>;
  for (const { name, types, required } of rules) {
    if (!Object.hasOwn(fields, name)) {
      if (required) throw new RequestError(`missing required field ${name}`);
      continue;
    }
    if (!types || types.some((type) => IS[type](fields[name]))) continue;
    const expected = types.length > 1 ? `any of: ${types.join(', ')}` : types[0];
    throw new RequestError(`'${name}' must be ${expected}`);
  }
  return Object.fromEntries(
    rules.map(({ name }) => [name, Object.hasOwn(fields, name) ? fields[name] : undefined]),
  );
}
