import { BUILTINS } from './builtins.js';
import { translate } from './generate.js';
import {
  all,
  atMost,
  entries,
  field,
  index,
  len,
  less,
  LuaError,
  mod,
  Multi,
  num,
  ok,
  one,
  put,
  str,
  Table,
  table,
  unpacked,
  type LuaFunction,
  type Result,
  type Value,
} from './values.js';

/** @throws LuaError */
function missing(name: string): never {
  throw new LuaError(`Script attempted to access nonexistent global variable '${name}'`);
}

/** Calls the function of a table, or of the library of texts. */
function method(of: Value, name: string): LuaFunction {
  const found = typeof of === 'string' ? BUILTINS[`string.${name}`] : field(of, name);
  return found as LuaFunction;
}

const OPERATIONS = {
  ...{
    Table,
    Multi,
    one,
    all,
    ok,
    num,
    str,
    len,
    index,
    field,
    put,
    less,
    atMost,
    mod,
    table,
    method,
    entries,
    unpacked,
    missing,
  },
};

/** A translated program. */
export type Program = (keys: Table, args: Table) => Result;

/**
 * Makes a program of a Lua text, once for the server whose functions it calls. The text comes from this package or from a caller
 * of EVAL in this process, and never from a job.
 *
 * @param functions those of Redis, by their names
 * @throws SyntaxError
 */
export function programOf(text: string, functions: Readonly<Record<string, Value>>): Program {
  const bytes = Buffer.from(text, 'utf8').toString('latin1');
  const runtime = { ...OPERATIONS, builtins: { ...BUILTINS, ...functions } };
  const made = new Function('L', 'KEYS', 'ARGV', translate(bytes)) as (
    L: typeof runtime,
    keys: Table,
    args: Table,
  ) => Result;
  return (keys, args) => made(runtime, keys, args);
}
