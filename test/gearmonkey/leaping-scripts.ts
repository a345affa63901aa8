import { LUA } from '../../lib/gearmonkey/wire/lua.embedded.js';

/** A key with the milliseconds by which the scripts' clock is ahead of the server's. */
export const AHEAD = 'test:ahead';

/**
 * Scripts that are defined from now on go by a clock that a test can move: to be imported before all others. `TIME` can't
 * be moved, nor a time passed as an argument to the calls that workers make.
 */
Object.assign(LUA, {
  clock: `
local function clock(given)
  if given ~= '' then return tonumber(given) end
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000) + (redis.call('GET', '${AHEAD}') or 0)
end`,
});
