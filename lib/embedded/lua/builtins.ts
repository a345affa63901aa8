import { compiled } from './patterns.js';
import {
  all,
  formatted,
  general,
  less,
  LuaError,
  Multi,
  num,
  ok,
  one,
  parsed,
  str,
  Table,
  typeOf,
  unpacked,
  type LuaFunction,
  type Result,
  type Value,
} from './values.js';

/** cjson's null. */
const NULL = new Table();

const FORMAT = /%(?:%|(-?)(0?)(\d*)(?:\.(\d+))?([sdigfqcx]))/g;

function format(...[pattern, ...args]: Value[]): string {
  let at = 0;
  return str(pattern).replace(
    FORMAT,
    (
      all,
      left: string,
      zero: string,
      width: string,
      precision: string | undefined,
      kind: string | undefined,
    ) => {
      if (kind === undefined) return all === '%%' ? '%' : all;
      const text = one_(kind, args[at++], precision === undefined ? undefined : Number(precision));
      if (width === '') return text;
      if (left === '-') return text.padEnd(Number(width));
      return text.padStart(Number(width), zero === '0' ? '0' : ' ');
    },
  );
}

function one_(kind: string, value: Value, precision: number | undefined): string {
  if (kind === 's') return precision === undefined ? tostring(value) : tostring(value).slice(0, precision);
  const number = num(value);
  if (kind === 'f') return fixed(number, precision ?? 6);
  if (kind === 'g') return general(number, precision ?? 6);
  if (kind === 'x') return Math.trunc(number).toString(16);
  if (kind === 'c') return String.fromCharCode(number);
  // A C integer has no negative zero.
  return fixed(Math.trunc(number) + 0, 0);
}

/** As `%.<digits>f` of C, which rounds halves to even. */
function fixed(value: number, digits: number): string {
  if (!Number.isFinite(value)) return general(value, 6);
  if (Number.isInteger(value) && Math.abs(value) < 1e15) {
    const text = Object.is(value, -0) ? '-0' : String(value);
    return digits === 0 ? text : `${text}.${'0'.repeat(digits)}`;
  }
  const scaled = value * 10 ** digits;
  const floor = Math.floor(scaled);
  // Exactly half: only such a number has so few binary digits.
  if (scaled - floor === 0.5 && Number.isInteger(value * 2 ** (digits + 1))) {
    const even = (floor % 2 === 0 ? floor : floor + 1) / 10 ** digits;
    return even === 0 && value < 0 ? `-${(0).toFixed(digits)}` : even.toFixed(digits);
  }
  return Math.abs(value) < 1e21
    ? value.toFixed(digits)
    : BigInt(value).toString() + (digits > 0 ? `.${'0'.repeat(digits)}` : '');
}

function tostring(value: Value): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return formatted(value);
  if (value === undefined) return 'nil';
  return typeof value === 'boolean' ? String(value) : `${typeOf(value)}: 0x0`;
}

function tonumber(value: Value, base?: Value): Value {
  if (typeof value === 'number') return value;
  if (typeof value !== 'string') return undefined;
  if (base === undefined || base === 10) return parsed(value);
  const number = Number.parseInt(value, num(base));
  return Number.isNaN(number) ? undefined : number;
}

/** The index in JavaScript of a position of Lua, which counts from 1, or from the end if it is negative. */
function from(position: Value, length: number): number {
  const at = position === undefined ? 1 : num(position);
  if (at > 0) return at - 1;
  return at === 0 ? 0 : Math.max(0, length + at);
}

function sub(text: Value, first: Value, last?: Value): string {
  const whole = str(text);
  const end = last === undefined ? -1 : num(last);
  return whole.slice(from(first, whole.length), end < 0 ? whole.length + end + 1 : end);
}

function capturesOf(found: RegExpExecArray): Value[] {
  return found.length === 1 ? [found[0]] : found.slice(1);
}

function match(text: Value, pattern: Value, init?: Value): Result {
  const whole = str(text);
  const { search, captures } = compiled(str(pattern));
  search.lastIndex = from(init, whole.length);
  const found = search.exec(whole);
  if (!found) return undefined;
  return captures < 2 ? found[captures] : new Multi(found.slice(1));
}

function find(text: Value, pattern: Value, init?: Value, plain?: Value): Result {
  const whole = str(text);
  const begin = from(init, whole.length);
  if (begin > whole.length) return undefined;
  if (ok(plain)) {
    const at = whole.indexOf(str(pattern), begin);
    return at < 0 ? undefined : new Multi([at + 1, at + str(pattern).length]);
  }
  const { search } = compiled(str(pattern));
  search.lastIndex = begin;
  const found = search.exec(whole);
  return found ? new Multi([found.index + 1, found.index + found[0].length, ...found.slice(1)]) : undefined;
}

function gsub(text: Value, pattern: Value, by: Value, most: Value = Infinity): Result {
  const whole = str(text);
  const { search, isAnchored } = compiled(str(pattern));
  let [result, at, count] = ['', 0, 0];
  search.lastIndex = 0;
  while (count < num(most)) {
    const found = search.exec(whole);
    if (!found) break;
    count += 1;
    result += whole.slice(at, found.index) + replaced(found, by);
    at = found.index + found[0].length;
    if (isAnchored) break;
    if (found[0] === '') search.lastIndex += 1;
  }
  return new Multi([result + whole.slice(at), count]);
}

function replaced(found: RegExpExecArray, by: Value): string {
  const captures = capturesOf(found);
  if (typeof by === 'string' || typeof by === 'number')
    return str(by).replace(/%([\s\S])/g, (_, which: string) =>
      which === '0' ? found[0] : /\d/.test(which) ? str(captures[Number(which) - 1]) : which,
    );
  const value = by instanceof Table ? by.get(captures[0]) : one((by as LuaFunction)(...captures));
  return ok(value) ? str(value) : found[0];
}

function gmatch(text: Value, pattern: Value): LuaFunction {
  const whole = str(text);
  const { search } = compiled(str(pattern));
  let at = 0;
  return () => {
    if (at > whole.length) return undefined;
    search.lastIndex = at;
    const found = search.exec(whole);
    if (!found) return undefined;
    at = found[0] === '' ? found.index + 1 : found.index + found[0].length;
    const captures = capturesOf(found);
    return captures.length === 1 ? captures[0] : new Multi(captures);
  };
}

function sort(list: Value, before?: Value): undefined {
  const { items } = list as Table;
  const isBefore = (before ?? less) as (a: Value, b: Value) => Result;
  items.sort((a, b) => (ok(one(isBefore(a, b))) ? -1 : ok(one(isBefore(b, a))) ? 1 : 0));
}

function concat(list: Value, separator: Value = '', first: Value = 1, last?: Value): string {
  return unpacked(list, first, last).map(str).join(str(separator));
}

/** What a value is that was thrown. */
export function thrown(error: unknown): Value {
  if (error instanceof LuaError) return error.value;
  return error instanceof Error ? error.message : String(error);
}

function guarded(action: Value, ...args: Value[]): Result {
  try {
    return new Multi([true, ...all((action as LuaFunction)(...args))]);
  } catch (error) {
    const value = thrown(error);
    // Redis gives the text of an error that is a table.
    const text = value instanceof Table ? value.field('err') : undefined;
    return new Multi([false, typeof text === 'string' ? text : value]);
  }
}

const CONTROL = /["\\/]|[^ -~\x80-\xff]/g;
const SHORT: Readonly<Record<string, string>> = {
  ...{
    '"': '\\"',
    '\\': '\\\\',
    '/': '\\/',
    '\b': '\\b',
    '\t': '\\t',
    '\n': '\\n',
    '\f': '\\f',
    '\r': '\\r',
  },
};

/** A value as JSON, in the form of cjson. @throws LuaError */
function encode(value: Value): string {
  if (value === undefined || value === NULL) return 'null';
  if (typeof value === 'boolean') return String(value);
  if (typeof value === 'number') return formatted(value);
  if (typeof value === 'string')
    return `"${value.replace(CONTROL, (char) => SHORT[char] ?? `\\u00${char.charCodeAt(0).toString(16).padStart(2, '0')}`)}"`;
  if (!(value instanceof Table)) throw new LuaError(`Cannot serialise ${typeOf(value)}: type not supported`);
  const pairs = value.entries();
  if (pairs.length > 0 && pairs.every(([key]) => typeof key === 'number'))
    return `[${Array.from({ length: Math.max(...pairs.map(([key]) => num(key))) }, (_, i) => encode(value.get(i + 1))).join(',')}]`;
  return `{${pairs.map(([key, item]) => `${encode(str(key))}:${encode(item)}`).join(',')}}`;
}

/** @throws LuaError */
function decode(text: Value): Value {
  try {
    return fromJson(JSON.parse(Buffer.from(str(text), 'latin1').toString('utf8')));
  } catch (error) {
    throw new LuaError(thrown(error));
  }
}

function fromJson(value: unknown): Value {
  if (value === null) return NULL;
  if (typeof value === 'string') return Buffer.from(value, 'utf8').toString('latin1');
  if (Array.isArray(value)) return new Table(value.map(fromJson));
  if (typeof value !== 'object') return value as boolean | number;
  const made = new Table();
  for (const [key, item] of Object.entries(value))
    made.set(Buffer.from(key, 'utf8').toString('latin1'), fromJson(item));
  return made;
}

/** @throws LuaError */
function fail(value: Value): never {
  throw new LuaError(value);
}

const single =
  (action: (...numbers: number[]) => number): LuaFunction =>
  (...args) =>
    action(...args.map(num));

/** Functions and values of Lua, by their names. Those of Redis come from the server. */
export const BUILTINS: Readonly<Record<string, Value>> = {
  tonumber,
  tostring,
  type: typeOf,
  error: fail,
  pcall: guarded,
  assert: (...args) => (ok(args[0]) ? new Multi(args) : fail(args[1] ?? 'assertion failed!')),
  select: (which, ...args) => (which === '#' ? args.length : new Multi(args.slice(num(which) - 1))),
  unpack: (...args) => new Multi(unpacked(args[0], args[1], args[2])),
  'string.format': format,
  'string.sub': sub,
  'string.rep': (text, count) => str(text).repeat(Math.max(0, num(count))),
  'string.lower': (text) => str(text).replace(/[A-Z]/g, (char) => char.toLowerCase()),
  'string.upper': (text) => str(text).replace(/[a-z]/g, (char) => char.toUpperCase()),
  'string.len': (text) => str(text).length,
  'string.char': (...codes) => String.fromCharCode(...codes.map(num)),
  'string.byte': (text, first = 1, last = first) =>
    new Multi([...sub(text, first, last)].map((char) => char.charCodeAt(0))),
  'string.match': match,
  'string.find': find,
  'string.gsub': gsub,
  'string.gmatch': gmatch,
  'table.insert': (list, ...args) => void insert(list as Table, args),
  'table.remove': (list, at) => (list as Table).items.splice(at === undefined ? -1 : num(at) - 1, 1)[0],
  'table.concat': concat,
  'table.sort': sort,
  'math.max': single(Math.max),
  'math.min': single(Math.min),
  'math.floor': single(Math.floor),
  'math.ceil': single(Math.ceil),
  'math.abs': single(Math.abs),
  'math.fmod': single((a, b) => a % (b as number)),
  'math.huge': Infinity,
  'cjson.encode': encode,
  'cjson.decode': decode,
  'cjson.null': NULL,
};

function insert(list: Table, args: Value[]): void {
  if (args.length === 1) list.set(list.length + 1, args[0]);
  else list.items.splice(num(args[0]) - 1, 0, args[1]);
}
