import { createHash } from 'node:crypto';
import type { Cluster, Redis } from 'ioredis';
import { LUA } from '../../lib/gearmonkey/core/wire/lua.embedded.js';
import { wholeScripts } from '../../lib/redis/script.js';
import { nameAs } from '../support/command-trace.js';

/** A key with the milliseconds by which the scripts' clock is ahead of the server's. */
export const AHEAD = 'test:ahead';

const CLOCK = `
local function clock(given)
  if given ~= '' then return tonumber(given) end
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000) + (redis.call('GET', '${AHEAD}') or 0)
end`;

const TEXTS = wholeScripts(LUA);

/** Each script by its text and by its name on a server, and what is sent in its place. */
const REPLACED = new Map(
  [...wholeScripts({ ...LUA, clock: CLOCK })].flatMap(([name, leaping]) => {
    const text = TEXTS.get(name) ?? '';
    const [sha, leapingSha] = [shaOf(text), shaOf(leaping)];
    nameAs(leapingSha, sha);
    return [
      [text, leaping],
      [sha, leapingSha],
    ] as const;
  }),
);

/**
 * Has a client's scripts go by a clock that a test can move. `TIME` can't be moved, nor a time passed as an argument to the calls
 * that workers make.
 */
export function withLeaps<Client extends Redis | Cluster>(client: Client): Client {
  const call = client.callBuffer.bind(client) as (command: string, args: unknown[]) => Promise<unknown>;
  const replaced = (command: string, [script, ...rest]: unknown[]) =>
    call(command, [REPLACED.get(script as string) ?? script, ...rest]);
  return Object.assign(client, { callBuffer: replaced });
}

function shaOf(text: string): string {
  return createHash('sha1').update(text).digest('hex');
}
