import { readdirSync, readFileSync } from 'node:fs';

/** The texts of a folder's Lua files, by their paths in the folder without `.lua`. */
export type LuaFiles = Readonly<Record<string, string>>;

const SUFFIX = '.lua';

/** Only for `*.embedded.ts`: the build makes the texts part of the code. */
export function readLuaFiles(folder: URL): LuaFiles {
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) =>
    path.replaceAll('\\', '/'),
  );
  return Object.fromEntries(
    paths
      .filter((path) => path.endsWith(SUFFIX))
      .sort()
      .map((path) => [path.slice(0, -SUFFIX.length), readFileSync(new URL(path, folder), 'utf8')]),
  );
}
