import { MalformedMessageError } from '../../job/message-pack/message-pack-errors.js';
import { Raw } from '../message-pack/raw.js';
import { booleanOf, elementsOf, entriesOf, integerOf, textOf } from '../message-pack/unpack.js';
import { InvalidFieldError } from './body-errors.js';

export const MAX_INT32 = 2 ** 31 - 1;
export const MIN_INT32 = -(2 ** 31);

export interface IntegerRule {
  readonly default?: number;
  readonly min: number;
  readonly max: number;
}

/** The fields of a map, read by name. Each reader throws `InvalidFieldError` for what is not as it says. */
export class Fields {
  private constructor(
    private readonly entries: ReadonlyMap<string, Raw>,
    private readonly path: string,
  ) {}

  /** @throws MalformedMessageError when the body is no map */
  static of(body: Raw): Fields {
    if (!body.isMap) throw new MalformedMessageError('its value is not a map', 0);
    return new Fields(entriesOf(body), '');
  }

  get names(): string[] {
    return [...this.entries.keys()];
  }

  has(name: string): boolean {
    return this.entries.has(name);
  }

  /** The bytes themselves, if the field is there. */
  raw(name: string): Raw | undefined {
    return this.entries.get(name);
  }

  text(name: string): string {
    return this.optionalText(name) ?? this.fail(name, 'there, as text');
  }

  optionalText(name: string): string | undefined {
    const raw = this.entries.get(name);
    return raw && (textOf(raw) ?? this.fail(name, 'text in UTF-8'));
  }

  integer(name: string, { default: absent, min, max }: IntegerRule): number {
    const raw = this.entries.get(name);
    const value = raw ? integerOf(raw) : absent;
    const expected = `an integer from ${min} to ${max}`;
    if (value === undefined) return this.fail(name, raw ? expected : `there, as ${expected}`);
    return typeof value === 'bigint' || value < min || value > max ? this.fail(name, expected) : value;
  }

  boolean(name: string, absent?: boolean): boolean {
    const raw = this.entries.get(name);
    return (raw ? booleanOf(raw) : absent) ?? this.fail(name, raw ? 'true or false' : 'there, true or false');
  }

  map(name: string): Raw {
    const raw = this.entries.get(name);
    return raw?.isMap ? raw : this.fail(name, 'a map');
  }

  /** Of the field's own fields, which are named after it in errors. */
  optionalFields(name: string): Fields | undefined {
    if (!this.entries.has(name)) return undefined;
    return new Fields(entriesOf(this.map(name)), `${this.path}${name}.`);
  }

  optionalList(name: string): Raw[] | undefined {
    const raw = this.entries.get(name);
    if (!raw) return undefined;
    return raw.isArray ? elementsOf(raw) : this.fail(name, 'an array');
  }

  /** @throws InvalidFieldError always */
  fail(name: string, expected: string): never {
    throw new InvalidFieldError(this.path + name, expected);
  }
}
