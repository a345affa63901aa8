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

type Runtime = typeof OPERATIONS & { readonly builtins: Readonly<Record<string, Value>> };
type Translated = (runtime: Runtime, keys: Table, args: Table) => Result;

/** More than the scripts of this package; another program's texts may be without end. */
const MAX_TRANSLATED = 200;
/** Of all servers of this process, by their texts: apps and tests that follow each other use the same ones. */
const translated = new Map<string, Translated>();

/**
 * Makes a program of a Lua text for the server whose functions it calls. The text comes from this package or from a caller of
 * EVAL in this process, and never from a job.
 *
 * @param functions those of Redis, by their names
 * @throws SyntaxError
 */
export function programOf(text: string, functions: Readonly<Record<string, Value>>): Program {
  const runtime = { ...OPERATIONS, builtins: { ...BUILTINS, ...functions } };
  const made = translationOf(text);
  return (keys, args) => made(runtime, keys, args);
}

function translationOf(text: string): Translated {
  const known = translated.get(text);
  if (known) return known;
  const bytes = Buffer.from(text, 'utf8').toString('latin1');
  const made = new Function('L', 'KEYS', 'ARGV', translate(bytes)) as Translated;
  const [oldest] = translated.keys();
  if (translated.size === MAX_TRANSLATED && oldest !== undefined) translated.delete(oldest);
  translated.set(text, made);
  return made;
}
