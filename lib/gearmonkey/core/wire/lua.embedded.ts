import { readLuaFiles, type LuaFiles } from '../../../redis/lua-files.js';

/** Those of the core, and of each feature beside its code, by the names of their files: a script does not say where its parts stand. */
export const LUA: LuaFiles = byName(readLuaFiles(new URL('../../', import.meta.url)));

function byName(files: LuaFiles): LuaFiles {
  return Object.fromEntries(
    Object.entries(files).map(([path, text]) => [path.slice(path.lastIndexOf('/') + 1), text]),
  );
}
