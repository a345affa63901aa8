import { createHash } from 'node:crypto';
import type { Cluster, Redis } from 'ioredis';
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
  return function defineScript<Args extends Arguments, Reply>(
    name: string,
    decode: (reply: unknown) => Reply,
  ): Script<Args, Reply> {
    return scriptOf(wholeScript(files, name), decode);
  };
}

/** The text of a script as it is sent. */
export function wholeScript(files: LuaFiles, name: string): string {
  const read = (file: string): string => {
    const text = files[file];
    if (text === undefined) throw new Error(`There is no Lua file "${file}".`);
    return text;
  };
  return withIncludes(read(name), read);
}

/** All scripts of a folder, by name; not the files that only give names to others. */
export function wholeScripts(files: LuaFiles): Map<string, string> {
  const names = Object.keys(files).filter((name) => !/^-- Gives /m.test(files[name] ?? ''));
  return new Map(names.map((name) => [name, wholeScript(files, name)]));
}

/** What a server calls a script. */
export function shaOf(text: string): string {
  return createHash('sha1').update(text).digest('hex');
}

/** Replies arrive with Buffers for strings; `decode` is the only place that casts. */
export function scriptOf<Args extends Arguments, Reply>(
  text: string,
  decode: (reply: unknown) => Reply,
): Script<Args, Reply> {
  const sha = shaOf(text);
  return {
    text,
    sha,
    run: async (redis, keys, ...args) => {
      const sent = argumentsOf(sha, keys, args);
      try {
        return decode(await byName(redis, sent));
      } catch (error) {
        if (!isUnknown(error)) throw error;
        return decode(await withText({ redis, sha, text, sent }));
      }
    },
  };
}

/** One list, as it is made for each call: what identifies the script, the number of keys, the keys, the arguments. */
function argumentsOf(sha: string, keys: readonly string[], args: Arguments): Sent {
  const sent: Sent = [sha, keys.length];
  for (const key of keys) sent.push(key);
  for (const arg of args) {
    if (Array.isArray(arg)) for (const one of arg as readonly Argument[]) sent.push(toWritable(one));
    else sent.push(toWritable(arg as Argument));
  }
  return sent;
}

type Sent = (string | number | Buffer)[];

interface ScriptCall {
  readonly redis: Redis | Cluster;
  readonly sha: string;
  readonly text: string;
  readonly sent: Sent;
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
  return byName(redis, call.sent).catch((error: unknown) => {
    if (isUnknown(error)) return byText(call);
    throw error;
  });
}

function byName(redis: Redis | Cluster, sent: Sent): Promise<unknown> {
  return redis.callBuffer('EVALSHA', sent);
}

function byText({ redis, text, sent: [, ...rest] }: ScriptCall): Promise<unknown> {
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

/** `-- include NAME: names`; one that is not at the head of its file says after ` -- ` what it would cost there. */
const INCLUDE = /^ *-- include ([^\s:]+)(?:: .+)?$/;

/**
 * Replaces each include by that file and its own includes, once in a block of Lua, which its indentation shows, and the blocks
 * inside it. Tests check the names.
 */
function withIncludes(text: string, read: (name: string) => string, known: Set<string> = new Set()): string {
  const blocks = [{ indent: 0, known }];
  const lines = text.split('\n').flatMap((line) => {
    const indent = line.search(/\S/);
    // A blank line ends no block.
    while (indent >= 0 && indent < (blocks.at(-1)?.indent ?? 0)) blocks.pop();
    const name = INCLUDE.exec(line)?.[1];
    if (name === undefined) return [line];
    const around = blocks.at(-1) ?? { indent, known };
    const block = indent > around.indent ? { indent, known: new Set(around.known) } : around;
    if (block !== around) blocks.push(block);
    if (block.known.has(name)) return [];
    block.known.add(name);
    return [withIncludes(read(name), read, block.known).trimEnd()];
  });
  return lines.join('\n');
}
