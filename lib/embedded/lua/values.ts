/**
 * A value of Lua: strings are texts of bytes, with a character from 0 to 255 for each, and nil is undefined.
 */
export type Value = undefined | boolean | number | string | Table | LuaFunction;

/** What a call returns: one value, none, or several. */
export type Result = Value | Multi;

export type LuaFunction = (...args: Value[]) => Result;

/** Several values of a call. */
export class Multi {
  constructor(readonly list: readonly Value[]) {}
}

/** What a program throws: any value, also a reply that is an error. */
export class LuaError extends Error {
  constructor(readonly value: Value) {
    super(value instanceof Table ? String(value.field('err') ?? value.field('ok')) : String(value));
  }
}

/** A table: its values from 1 on are a list, the others a map. */
export class Table {
  private fields: Map<Value, Value> | undefined;

  /** @param items its values from 1 on; taken over, not copied */
  constructor(readonly items: Value[] = []) {}

  get length(): number {
    return this.items.length;
  }

  field(key: string): Value {
    return this.fields?.get(key);
  }

  get(key: Value): Value {
    if (typeof key === 'number') {
      const item = this.items[key - 1];
      if (item !== undefined) return item;
    }
    return this.fields?.get(key);
  }

  set(key: Value, value: Value): void {
    if (typeof key === 'number') {
      const { items } = this;
      if (key === items.length + 1) return this.append(value);
      if (key >= 1 && key <= items.length && Number.isInteger(key)) {
        items[key - 1] = value;
        if (value === undefined && key === items.length) this.trim();
        return;
      }
    }
    if (key === undefined || Number.isNaN(key))
      throw new LuaError(`table index is ${key === undefined ? 'nil' : 'NaN'}`);
    if (value === undefined) this.fields?.delete(key);
    else (this.fields ??= new Map()).set(key, value);
  }

  /** Sets a field and returns the table. */
  with(key: Value, value: Value): this {
    this.set(key, value);
    return this;
  }

  entries(): [Value, Value][] {
    const list: [Value, Value][] = [];
    this.items.forEach((item, i) => {
      if (item !== undefined) list.push([i + 1, item]);
    });
    if (this.fields) list.push(...this.fields);
    return list;
  }

  /** Removes what is nil at the end of its list. */
  trim(): this {
    const { items } = this;
    while (items.length > 0 && items[items.length - 1] === undefined) items.pop();
    return this;
  }

  private append(value: Value): void {
    const { items, fields } = this;
    if (value === undefined) return void fields?.delete(items.length + 1);
    items.push(value);
    if (!fields || fields.size === 0) return;
    fields.delete(items.length);
    for (let next = fields.get(items.length + 1); next !== undefined; next = fields.get(items.length + 1)) {
      items.push(next);
      fields.delete(items.length);
    }
  }
}

/** The first value of a call. */
export function one(result: Result): Value {
  return result instanceof Multi ? result.list[0] : result;
}

/** All values of a call. */
export function all(result: Result): readonly Value[] {
  if (result instanceof Multi) return result.list;
  return result === undefined ? [] : [result];
}

/** Whether a value counts as true. */
export function ok(value: Value): boolean {
  return value !== undefined && value !== false;
}

const NUMBER = /^[ \t-\r]*([-+]?(?:0[xX][\da-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?))[ \t-\r]*$/;
const ENDLESS = /^[ \t-\r]*([-+]?)(inf|nan)(?:inity)?[ \t-\r]*$/i;

/** The number that a text is, as for `tonumber`. */
export function parsed(text: string): number | undefined {
  const number = NUMBER.exec(text)?.[1];
  if (number !== undefined) return /^[-+]?0[xX]/.test(number) ? hexadecimal(number) : Number(number);
  const [, sign, name] = ENDLESS.exec(text) ?? [];
  if (name === undefined) return undefined;
  return name.toLowerCase() === 'nan' ? NaN : sign === '-' ? -Infinity : Infinity;
}

function hexadecimal(text: string): number {
  return text.startsWith('-') ? -Number(text.slice(1)) : Number(text.replace('+', ''));
}

/** An operand of arithmetic. @throws LuaError */
export function num(value: Value): number {
  if (typeof value === 'number') return value;
  const number = typeof value === 'string' ? parsed(value) : undefined;
  if (number === undefined) throw new LuaError(`attempt to perform arithmetic on a ${typeOf(value)} value`);
  return number;
}

/** An operand of `..`. @throws LuaError */
export function str(value: Value): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return formatted(value);
  throw new LuaError(`attempt to concatenate a ${typeOf(value)} value`);
}

/** A number as text, by `%.14g`. */
export function formatted(value: number): string {
  if (Number.isInteger(value) && Math.abs(value) < 1e14) return Object.is(value, -0) ? '-0' : String(value);
  return general(value, 14);
}

/** As `%.<digits>g` of C. */
export function general(value: number, digits: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? 'nan' : value < 0 ? '-inf' : 'inf';
  if (value === 0) return Object.is(value, -0) ? '-0' : '0';
  const exact = exponential(value, digits - 1);
  const exponent = Number(exact.slice(exact.indexOf('e') + 1));
  if (exponent >= -4 && exponent < digits) return stripped(plain(exact, exponent));
  const [mantissa = '', power = ''] = exact.split('e');
  const sign = power.startsWith('-') ? '-' : '+';
  return `${stripped(mantissa)}e${sign}${power.slice(1).padStart(2, '0')}`;
}

/** As `toExponential`, but halves go to the even digit, as in C. */
function exponential(value: number, digits: number): string {
  const text = value.toExponential(digits);
  const long = value.toExponential(Math.min(100, digits + 25));
  const end = long.indexOf('e');
  const rest = long.slice(digits === 0 ? 2 + (value < 0 ? 1 : 0) : end - 25, end);
  if (!/^50*$/.test(rest)) return text;
  // Halfway, JavaScript takes the larger number: the smaller one is what is cut off.
  const cut = long.slice(0, end - rest.length).replace(/\.$/, '');
  return /[02468]$/.test(cut) ? cut + long.slice(end) : text;
}

/** A number with all of its digits in place of a power of ten. */
function plain(exact: string, exponent: number): string {
  const sign = exact.startsWith('-') ? '-' : '';
  const digits = exact.slice(sign.length, exact.indexOf('e')).replace('.', '');
  if (exponent < 0) return `${sign}0.${'0'.repeat(-exponent - 1)}${digits}`;
  const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, '0');
  const rest = digits.slice(exponent + 1);
  return rest === '' ? sign + whole : `${sign}${whole}.${rest}`;
}

function stripped(text: string): string {
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}

/** @throws LuaError */
export function len(value: Value): number {
  if (value instanceof Table) return value.items.length;
  if (typeof value === 'string') return value.length;
  throw new LuaError(`attempt to get length of a ${typeOf(value)} value`);
}

/** @throws LuaError */
export function index(of: Value, key: Value): Value {
  if (of instanceof Table) return of.get(key);
  if (typeof of === 'string') return undefined;
  throw new LuaError(`attempt to index a ${typeOf(of)} value`);
}

/** The same with a name. @throws LuaError */
export function field(of: Value, key: string): Value {
  if (of instanceof Table) return of.field(key);
  return index(of, key);
}

/** @throws LuaError */
export function put(of: Value, key: Value, value: Value): void {
  if (!(of instanceof Table)) throw new LuaError(`attempt to index a ${typeOf(of)} value`);
  of.set(key, value);
}

/** @throws LuaError */
export function less(a: Value, b: Value): boolean {
  if (typeof a === 'number' && typeof b === 'number') return a < b;
  if (typeof a === 'string' && typeof b === 'string') return a < b;
  throw new LuaError(`attempt to compare ${typeOf(a)} with ${typeOf(b)}`);
}

/** @throws LuaError */
export function atMost(a: Value, b: Value): boolean {
  if (typeof a === 'number' && typeof b === 'number') return a <= b;
  if (typeof a === 'string' && typeof b === 'string') return a <= b;
  throw new LuaError(`attempt to compare ${typeOf(a)} with ${typeOf(b)}`);
}

export function mod(a: number, b: number): number {
  return a - Math.floor(a / b) * b;
}

/** A table of a list that may end with nil. */
export function table(items: Value[]): Table {
  return new Table(items).trim();
}

export function entries(of: Value): [Value, Value][] {
  if (of instanceof Table) return of.entries();
  throw new LuaError(`bad argument #1 to 'pairs' (table expected, got ${typeOf(of)})`);
}

/** The values of `unpack`. */
export function unpacked(of: Value, from: Value = 1, to?: Value): readonly Value[] {
  if (!(of instanceof Table))
    throw new LuaError(`bad argument #1 to 'unpack' (table expected, got ${typeOf(of)})`);
  const first = num(from);
  const last = to === undefined ? of.length : num(to);
  if (first === 1 && last === of.length) return of.items;
  const list: Value[] = [];
  for (let i = first; i <= last; i++) list.push(of.get(i));
  return list;
}

export function typeOf(value: Value): string {
  if (value === undefined) return 'nil';
  if (value instanceof Table) return 'table';
  return typeof value;
}
