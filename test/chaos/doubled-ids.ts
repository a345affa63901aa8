import type { Redis } from 'ioredis';
import { setTimeout as sleep } from 'node:timers/promises';
import { LIMITS, TENANTS } from './jobs.mjs';

const PAUSE_MS = 300;
const PRIORITIES = ['high', 'normal', 'low'];

/** Ids of jobs that wait, and stand in these queues twice: KEYS[1] is the prefix of the hashes, the others are lists and sorted sets. */
const FIND = `
local seen, doubled = {}, {}
for i = 2, #KEYS do
  local kind = redis.call('TYPE', KEYS[i]).ok
  local ids = {}
  if kind == 'list' then ids = redis.call('LRANGE', KEYS[i], 0, -1) end
  if kind == 'zset' then ids = redis.call('ZRANGE', KEYS[i], 0, -1) end
  for _, entry in ipairs(ids) do
    local id = string.match(entry, '^(%d+):') or entry
    if seen[id] and redis.call('HGET', KEYS[1] .. id, 'status') == 'idle' then
      doubled[#doubled + 1] = id .. ': ' .. seen[id] .. ' and ' .. KEYS[i]
    end
    seen[id] = KEYS[i]
  end
end
return doubled`;

/** Looks again and again whether an id stands in two places of one function. */
export class DoubledIds {
  private readonly found = new Set<string>();
  private readonly looking: Promise<void>;
  private stopping = false;

  constructor(
    private readonly redis: Redis,
    private readonly functions: readonly string[],
  ) {
    this.looking = this.look();
  }

  /** What it has found, in words. */
  async stop(): Promise<readonly string[]> {
    this.stopping = true;
    await this.looking;
    return [...this.found];
  }

  private async look(): Promise<void> {
    while (!this.stopping) {
      for (const fn of this.functions) {
        const keys = [`job:${fn}:`, ...queuesOf(fn)];
        const doubled = await this.redis.eval(FIND, keys.length, ...keys).catch(() => []);
        for (const id of doubled as string[]) this.found.add(`${fn}#${id}`);
      }
      await sleep(PAUSE_MS);
    }
  }
}

function queuesOf(fn: string): string[] {
  const limited = TENANTS.flatMap((key) => PRIORITIES.map((name) => `limit:${fn}:wait:${name}:${key}`));
  return [
    `queue:${fn}:scheduled`,
    ...PRIORITIES.map((name) => `queue:${fn}:${name}`),
    ...(LIMITS[fn] === undefined ? [] : [`limit:${fn}:due`, ...limited]),
  ];
}
