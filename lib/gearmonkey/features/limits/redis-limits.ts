import type { Cluster, Redis } from 'ioredis';
import { chunksOf } from '../../../batching/chunks.js';
import { messageOf } from '../../../job/errors.js';
import { LimitUnknownError } from '../../../job/limit-errors.js';
import type { LimitState } from '../../../job/limit.js';
import type { StoreServer } from '../../core/client/store-server.js';
import { NO_RIGHT } from '../../../redis/rights.js';
import { explainToViewer } from '../../core/wire/viewer-rights.js';
import { fullFirst, numbersText, sharedLimitIn, toLimitState, type Numbers } from './limit-rules.js';
import * as limitScripts from './limit-scripts.js';
import type { LimitsQuery, LimitStore, Sharing } from './limit-store.js';

/** Most keys of a limit that one call reads: more would block the server. */
const MAX_LIMIT_KEYS = 1000;
/** How many functions are asked at a time. */
const AT_ONCE = 50;
const UNREAD = Symbol('unread');

/** Reads and changes limits on a Redis server. */
export class RedisLimits implements LimitStore {
  constructor(private readonly server: Pick<StoreServer, 'questions' | 'keysOf' | 'now' | 'index'>) {}

  async read(fn: string, { key, size }: LimitsQuery): Promise<LimitState[]> {
    const { control, limits, jobs, wake } = this.server.keysOf(fn);
    const one = key === undefined ? 0 : 1;
    const keys = [control, limits, jobs, wake];
    const found = await this.server.questions.ask(fn, 'Reading limits', (redis) =>
      limitScripts.readLimits.run(redis, keys, this.server.now(), MAX_LIMIT_KEYS, one, key ?? ''),
    );
    return (found ?? []).map(toLimitState).sort(fullFirst).slice(0, size);
  }

  async set(fn: string, numbers: Numbers | undefined): Promise<void> {
    const text = numbers ? numbersText(numbers) : '';
    const ask: Parameters<typeof limitScripts.changeLimit>[0] = (question) =>
      this.server.questions.ask(fn, 'Changing the limit', question);
    const isKnown = await limitScripts.changeLimit(ask, this.server.keysOf(fn), 'override', text, '');
    if (!isKnown) throw new LimitUnknownError(fn);
  }

  async sharing(fn: string, known: readonly string[]): Promise<Sharing> {
    const read = async (redis: Redis | Cluster) => {
      const limitOf = async (one: string) =>
        sharedLimitIn((await redis.hmget(this.server.keysOf(one).control, 'limit'))[0]);
      const shared = await limitOf(fn);
      if (shared === undefined) return { functions: [fn], unread: [] };
      const found = { functions: [fn], unread: [] as string[] };
      const others = new Set([...known, ...(await this.server.index.read(redis, -1))]);
      others.delete(fn);
      for (const some of chunksOf([...others], AT_ONCE)) {
        const limits = await Promise.all(some.map((one) => limitOf(one).catch(refusedAsUnread)));
        found.functions.push(...some.filter((_, index) => limits[index] === shared));
        found.unread.push(...some.filter((_, index) => limits[index] === UNREAD));
      }
      return found;
    };
    return this.server.questions.ask(fn, 'Reading who shares the limit', read, { explain: explainToViewer });
  }
}

/** Of functions to which this program has no rights nothing can be told. */
function refusedAsUnread(error: unknown): typeof UNREAD {
  if (NO_RIGHT.test(messageOf(error))) return UNREAD;
  throw error;
}
