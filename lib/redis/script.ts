import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Cluster, Redis } from 'ioredis';

type Argument = string | number | Uint8Array;
type Arguments = readonly (Argument | readonly Argument[])[];

/** A Lua script and the types of its arguments and reply. */
export interface Script<Args extends Arguments, Reply> {
  readonly text: string;
  readonly sha: string;
  /** Sends one EVALSHA; where the server doesn't know the script (yet, or any more), the text follows. */
  run(redis: Redis | Cluster, keys: readonly string[], ...args: Args): Promise<Reply>;
}

const INCLUDE = /^-- include (\S+)$/gm;

/**
 * `defineScript` for the Lua files of a folder. A line `-- include NAME` is replaced by that file.
 * Replies arrive with Buffers for strings; `decode` is the only place that casts.
 */
export function scriptsIn(folder: URL) {
  const load = (name: string): string =>
    readFileSync(new URL(`${name}.lua`, folder), 'utf8').replace(INCLUDE, (_, included: string) =>
      load(included),
    );

  return function defineScript<Args extends Arguments, Reply>(
    name: string,
    decode: (reply: unknown) => Reply,
  ): Script<Args, Reply> {
    const text = load(name);
    const sha = createHash('sha1').update(text).digest('hex');
    return {
      text,
      sha,
      run: async (redis, keys, ...args) => decode(await evaluate(redis, { text, sha }, keys, args.flat())),
    };
  };
}

async function evaluate(
  redis: Redis | Cluster,
  { text, sha }: { text: string; sha: string },
  keys: readonly string[],
  args: readonly Argument[],
): Promise<unknown> {
  const rest = [...keys, ...args.map(toWritable)];
  try {
    return await redis.callBuffer('EVALSHA', [sha, keys.length, ...rest]);
  } catch (error) {
    if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
    return redis.callBuffer('EVAL', [text, keys.length, ...rest]);
  }
}

/** ioredis writes Buffers as they are, and anything else as its text. */
function toWritable(arg: Argument): string | number | Buffer {
  if (typeof arg !== 'object' || Buffer.isBuffer(arg)) return arg;
  return Buffer.from(arg.buffer, arg.byteOffset, arg.byteLength);
}
