import { defined } from '../../job/defined.js';
import { Fields, MAX_INT32, type FieldName } from '../wire/fields.js';
import type { Raw } from '../message-pack/raw.js';
import { scalarOf } from './scalar.js';
import type { Condition, Constraint, RateLimit, StorableScalar } from './constraint.js';

export const MAX_CONDITIONS = 20;
export const MAX_VALUES = 100;
const MAX_FIELD_BYTES = 255;
const MAX_TEXT_BYTES = 1024;
/** A start is remembered for as long as its period. */
export const MAX_RATE = 100_000;
export const MAX_PERIOD_SECONDS = 7 * 24 * 60 * 60;
const POSITIVE = { min: 1, max: MAX_INT32 };

/** Unknown fields are refused: a misspelt one would select too many jobs. */
const KNOWN = ['id', 'match', 'per', 'rate', 'concurrency'] as const;
const TESTS = ['field', 'equal', 'in', 'glob', 'min', 'max', 'exists'] as const;

/**
 * A constraint as it comes over HTTP.
 *
 * @throws InvalidFieldError
 */
export function readConstraint(fields: Fields): Constraint {
  fields.only(KNOWN);
  const rate = readRate(fields);
  const concurrency = fields.has('concurrency') ? fields.integer('concurrency', POSITIVE) : undefined;
  if (!rate && concurrency === undefined)
    fields.fail('rate', 'there, or `concurrency`: a limit of some kind');
  const per = fields.has('per') ? readField(fields, 'per') : undefined;
  return defined({
    match: readMatch(fields),
    per,
    rate,
    concurrency,
  });
}

function readRate(fields: Fields): RateLimit | undefined {
  const rate = fields.optionalFields('rate');
  return (
    rate && {
      count: rate.integer('count', { min: 1, max: MAX_RATE }),
      period: rate.integer('period', { min: 1, max: MAX_PERIOD_SECONDS }),
    }
  );
}

function readMatch(fields: Fields): Condition[] {
  const list = fields.optionalList('match', MAX_CONDITIONS, 'conditions') ?? [];
  return list.map((raw) =>
    raw.isMap ? readCondition(Fields.of(raw)) : fields.fail('match', 'maps in an array'),
  );
}

function readCondition(fields: Fields): Condition {
  if (fields.only(TESTS) < 2) fields.fail('match', 'conditions with one test at least');
  return defined({
    field: readField(fields, 'field'),
    equal: fields.has('equal') ? readScalar(fields, 'equal', fields.raw('equal')) : undefined,
    in: fields.has('in') ? readValues(fields) : undefined,
    glob: fields.has('glob') ? readText(fields, 'glob', MAX_FIELD_BYTES) : undefined,
    min: fields.has('min') ? readNumber(fields, 'min') : undefined,
    max: fields.has('max') ? readNumber(fields, 'max') : undefined,
    exists: fields.has('exists') ? fields.boolean('exists') : undefined,
  });
}

function readField(fields: Fields, name: FieldName): string {
  const field = readText(fields, name, MAX_FIELD_BYTES);
  if (field === 'name' || /^argument(\.[^.]+)+$/.test(field)) return field;
  return fields.fail(name, '"name", or "argument" with a path like "argument.tenant.id"');
}

function readText(fields: Fields, name: FieldName, maxBytes: number): string {
  const text = fields.text(name);
  return Buffer.byteLength(text) <= maxBytes ? text : fields.fail(name, `at most ${maxBytes} bytes`);
}

function readValues(fields: Fields): StorableScalar[] {
  const values = fields.optionalList('in', MAX_VALUES, 'values') ?? [];
  if (values.length === 0) fields.fail('in', 'one value at least');
  return values.map((raw) => readScalar(fields, 'in', raw));
}

function readScalar(fields: Fields, name: string, raw: Raw | undefined): StorableScalar {
  const value = raw && scalarOf(raw);
  const expected = `text of at most ${MAX_TEXT_BYTES} bytes, a number within 2^53, true, false or nil`;
  if (value === undefined || typeof value === 'bigint') return fields.fail(name, expected);
  if (typeof value === 'number' && !Number.isFinite(value)) return fields.fail(name, expected);
  if (typeof value === 'string' && Buffer.byteLength(value) > MAX_TEXT_BYTES)
    return fields.fail(name, expected);
  return value;
}

function readNumber(fields: Fields, name: FieldName): number {
  const value = readScalar(fields, name, fields.raw(name));
  return typeof value === 'number' ? value : fields.fail(name, 'a number');
}
