import { createHash } from 'node:crypto';
import type { Cluster, Redis } from 'ioredis';
import { withIncludes } from './includes.js';
import type { LuaFiles } from './lua-files.js';

type Argument = string | number | Uint8Array;
export type Arguments = readonly (Argument | readonly Argument[])[];

/** A Lua script and the types of its arguments and reply. */
export interface Script<Args extends Arguments, Reply> {
  readonly text: string;
  readonly sha: string;
  /** Sends EVALSHA; if the server doesn't know the script, the text follows. */
  run(redis: Redis | Cluster, keys: readonly string[], ...args: Args): Promise<Reply>;
}

/** Makes a `defineScript` for the Lua files of a folder, with their includes. */
export function scriptsIn(files: LuaFiles) {
  const read = (name: string): string => {
    const text = files[name];
    if (text === undefined) throw new Error(`There is no Lua file "${name}".`);
    return text;
  };

  return function defineScript<Args extends Arguments, Reply>(
    name: string,
    decode: (reply: unknown) => Reply,
  ): Script<Args, Reply> {
    return scriptOf(withIncludes(read(name), read), decode);
  };
}

/** Replies arrive with Buffers for strings; `decode` is the only place that casts. */
export function scriptOf<Args extends Arguments, Reply>(
  text: string,
  decode: (reply: unknown) => Reply,
): Script<Args, Reply> {
  const sha = createHash('sha1').update(text).digest('hex');
  return {
    text,
    sha,
    run: async (redis, keys, ...args) => decode(await evaluate(redis, { text, sha }, keys, args.flat())),
  };
}

interface ScriptCall {
  readonly redis: Redis | Cluster;
  readonly sha: string;
  readonly text: string;
  /** The number of keys, the keys, the arguments. */
  readonly rest: readonly (string | number | Buffer)[];
}

async function evaluate(
  redis: Redis | Cluster,
  { text, sha }: { text: string; sha: string },
  keys: readonly string[],
  args: readonly Argument[],
): Promise<unknown> {
  const call: ScriptCall = { redis, sha, text, rest: [keys.length, ...keys, ...args.map(toWritable)] };
  try {
    return await byName(call);
  } catch (error) {
    if (isUnknown(error)) return withText(call);
    throw error;
  }
}

/** Calls under way that send a script's text, by connection and script. */
const bringing = new WeakMap<Redis | Cluster, Map<string, Promise<unknown>>>();

/** If many calls find the script missing, one sends the text and the others wait for it. */
async function withText(call: ScriptCall): Promise<unknown> {
  const { redis, sha } = call;
  const others = bringing.get(redis) ?? new Map<string, Promise<unknown>>();
  bringing.set(redis, others);
  const other = others.get(sha);
  if (!other) {
    const first = byText(call);
    others.set(sha, first);
    return first.finally(() => others.delete(sha));
  }
  await other.catch(() => undefined);
  // On a cluster the other call may have sent the text to another node.
  return byName(call).catch((error: unknown) => {
    if (isUnknown(error)) return byText(call);
    throw error;
  });
}

function byName({ redis, sha, rest }: ScriptCall): Promise<unknown> {
  return redis.callBuffer('EVALSHA', [sha, ...rest]);
}

function byText({ redis, text, rest }: ScriptCall): Promise<unknown> {
  return redis.callBuffer('EVAL', [text, ...rest]);
}

function isUnknown(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT');
}

/** ioredis writes Buffers unchanged and converts everything else to text. */
function toWritable(arg: Argument): string | number | Buffer {
  if (arg === undefined || arg === null)
    throw new TypeError(`An argument of a script must be text, a number or bytes, got ${String(arg)}.`);
  if (typeof arg !== 'object' || Buffer.isBuffer(arg)) return arg;
  return Buffer.from(arg.buffer, arg.byteOffset, arg.byteLength);
}
