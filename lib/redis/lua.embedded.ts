import { readLuaFiles, type LuaFiles } from './lua-files.js';

export const LUA: LuaFiles = readLuaFiles(new URL('./scripts/', import.meta.url));
