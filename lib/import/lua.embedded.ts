import { readLuaFiles, type LuaFiles } from '../redis/lua-files.js';

export const LUA: LuaFiles = readLuaFiles(new URL('./scripts/', import.meta.url));
