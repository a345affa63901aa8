import type { Cluster, Redis } from 'ioredis';
import { chunksOf } from '../../../batching/chunks.js';
import { scriptsIn } from '../../../redis/script.js';
import { LUA } from '../../core/wire/lua.embedded.js';
import type { FunctionKeys } from '../../core/wire/protocol.js';
import type { Bytes, Now, Times } from '../../core/wire/scripts.js';

const defineScript = scriptsIn(LUA);

/** A refused call: the key that is full, and when it may start a job again, in ms since 1970. */
export interface Full {
  readonly key: string;
  readonly until?: number | undefined;
}

/** As `enqueue`, for a function with a limit. Jobs have three values each: input, options and key. */
export const enqueueLimited = defineScript<
  [
    created: number,
    call: number,
    memorySeconds: number,
    mark: number,
    times: Times,
    priority: string,
    now: Now,
    rules: string,
    shared: string,
    onFull: string,
    jobs: Bytes[],
  ],
  number | Full
>('enqueue-limited', (reply) => {
  if (typeof reply === 'number') return reply;
  const [key, until] = (reply as Buffer[]).map(String) as [string, string];
  return { key, until: until === '' ? undefined : Number(until) };
});

/** What a call of `set-limit` has done: `more` if keys that are full are left at which the next claims have to look again. */
export type LimitChange = 'unknown' | 'done' | 'more';

const CHANGES: readonly LimitChange[] = ['unknown', 'done', 'more'];

/** Stores a function's limit or an override of its numbers, or goes on with that; `unknown` if there is no limit to override. */
export const setLimit = defineScript<
  [field: 'limit' | 'override' | 'rest', rules: string, shared: string],
  LimitChange
>('set-limit', (reply) => CHANGES[reply as number] ?? 'done');

/**
 * Stores a function's limit or an override, in as many calls as that takes: one for all keys that are full would block the
 * server. `ask` sends one. If no more are sent, workers go on when they look for lost jobs. False if there is no limit to override.
 */
export async function changeLimit(
  ask: (question: (redis: Redis | Cluster) => Promise<LimitChange>) => Promise<LimitChange>,
  { control, limits, wake }: Pick<FunctionKeys, 'control' | 'limits' | 'wake'>,
  field: 'limit' | 'override',
  rules: string,
  shared: string,
): Promise<boolean> {
  const keys = [control, limits, wake];
  let done = await ask((redis) => setLimit.run(redis, keys, field, rules, shared));
  while (done === 'more') done = await ask((redis) => setLimit.run(redis, keys, 'rest', '', ''));
  return done === 'done';
}

/** A key of a limit, as it is stored. */
export interface StoredLimit {
  readonly key: string;
  readonly waiting: number;
  readonly running: number;
  /** In ms since 1970: 0 for now, -1 if it is not known. */
  readonly until: number;
  /** The id of a job, or ''. */
  readonly holder: string;
}

const VALUES_A_LIMIT = 5;

/** Returns undefined if the function has no limit. */
export const readLimits = defineScript<
  [now: Now, size: number, one: 0 | 1, key: string],
  StoredLimit[] | undefined
>('read-limits', (reply) => {
  if (!Array.isArray(reply)) return undefined;
  return chunksOf((reply as unknown[]).map(String), VALUES_A_LIMIT).map(
    ([key = '', waiting, running, until, holder = '']) => ({
      key,
      waiting: Number(waiting),
      running: Number(running),
      until: Number(until),
      holder,
    }),
  );
});
