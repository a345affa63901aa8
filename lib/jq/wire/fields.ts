import { MalformedMessageError } from '../../job/message-pack/message-pack-errors.js';
import { otherKey, Paths, pick, type Picked } from '../message-pack/pick.js';
import type { Raw } from '../message-pack/raw.js';
import { booleanOf, elementsOf, integerOf, lengthOf, textOf } from '../message-pack/unpack.js';
import { InvalidFieldError } from './body-errors.js';

export const MAX_INT32 = 2 ** 31 - 1;
export const MIN_INT32 = -(2 ** 31);

export interface IntegerRule {
  readonly default?: number;
  readonly min: number;
  readonly max: number;
}

/** The names of all fields in our messages. Other fields are not decoded. */
const NAMES = [
  ...['name', 'argument', 'priority', 'max_retry', 'keep_result', 'timeout', 'id', 'job_id', 'retry_count'],
  ...['max_jobs', 'url', 'names', 'batch', 'worker_id', 'attempt', 'finished_at', 'type', 'status', 'result'],
  ...['reason', 'should_retry', 'last_attempt', 'waited_ms', 'message', 'error', 'code', 'retry_after'],
  ...['match', 'per', 'rate', 'concurrency', 'count', 'period'],
  ...['field', 'equal', 'in', 'glob', 'min', 'max', 'exists'],
] as const;
const KNOWN = new Paths(NAMES.map((name) => [name]));

const LONGEST_NAME_SHOWN = 80;

export type FieldName = (typeof NAMES)[number];

/** The fields of a map, read by name. Each reader throws `InvalidFieldError` for other types or ranges. */
export class Fields {
  private constructor(
    private readonly picked: Picked,
    private readonly path: string,
  ) {}

  /** @throws MalformedMessageError when the body is no map */
  static of(body: Raw): Fields {
    if (!body.isMap) throw new MalformedMessageError('its value is not a map', 0);
    return new Fields(pick(body, KNOWN), '');
  }

  /** How many of these there are. @throws InvalidFieldError for the first that is another */
  only(names: readonly FieldName[]): number {
    const other = otherKey(this.picked.raw, new Set<string>(names));
    if (other !== undefined) this.fail(other.slice(0, LONGEST_NAME_SHOWN), `one of ${names.join(', ')}`);
    return this.picked.below.size;
  }

  has(name: FieldName): boolean {
    return this.picked.below.has(name);
  }

  /** The bytes themselves, if the field is there. */
  raw(name: FieldName): Raw | undefined {
    return this.picked.below.get(name)?.raw;
  }

  text(name: FieldName): string {
    return this.optionalText(name) ?? this.fail(name, 'there, as text');
  }

  optionalText(name: FieldName): string | undefined {
    const raw = this.raw(name);
    return raw && (textOf(raw) ?? this.fail(name, 'text in UTF-8'));
  }

  integer(name: FieldName, { default: absent, min, max }: IntegerRule): number {
    const raw = this.raw(name);
    const value = raw ? integerOf(raw) : absent;
    const expected = `an integer from ${min} to ${max}`;
    if (value === undefined) return this.fail(name, raw ? expected : `there, as ${expected}`);
    return typeof value === 'bigint' || value < min || value > max ? this.fail(name, expected) : value;
  }

  boolean(name: FieldName, absent?: boolean): boolean {
    const raw = this.raw(name);
    return (raw ? booleanOf(raw) : absent) ?? this.fail(name, raw ? 'true or false' : 'there, true or false');
  }

  map(name: FieldName): Raw {
    const raw = this.raw(name);
    return raw?.isMap ? raw : this.fail(name, 'a map');
  }

  /** The fields of a nested map; errors name them by their path. */
  optionalFields(name: FieldName): Fields | undefined {
    return this.has(name) ? new Fields(pick(this.map(name), KNOWN), `${this.path}${name}.`) : undefined;
  }

  /** A list of at most `most` elements; longer ones are refused before they are decoded. */
  optionalList(name: FieldName, most: number, what: string): Raw[] | undefined {
    const raw = this.raw(name);
    if (!raw) return undefined;
    if (!raw.isArray) return this.fail(name, 'an array');
    return lengthOf(raw) <= most ? elementsOf(raw) : this.fail(name, `at most ${most} ${what}`);
  }

  /** @throws InvalidFieldError always */
  fail(name: string, expected: string): never {
    throw new InvalidFieldError(this.path + name, expected);
  }
}
