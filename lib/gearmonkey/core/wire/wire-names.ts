import type { KeysOf } from './protocol.js';

/** What a function is called in keys: its name, perhaps with a prefix or braces. */
export function wireName(keysOf: KeysOf, fn: string): string {
  return keysOf(fn).jobs.slice('job:'.length, -1);
}

/** What this process calls a function; undefined if it can't call it. */
export function nameFromWire(keysOf: KeysOf, name: string, prefix = ''): string | undefined {
  const bare = /^\{(.+)\}$/.exec(name)?.[1];
  const own = name.startsWith(prefix) ? name.slice(prefix.length) : name;
  return [bare, own].find((fn) => fn !== undefined && isOnWire(keysOf, fn, name));
}

function isOnWire(keysOf: KeysOf, fn: string, name: string): boolean {
  try {
    return wireName(keysOf, fn) === name;
  } catch {
    return false;
  }
}
