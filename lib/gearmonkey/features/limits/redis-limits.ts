import { LimitUnknownError } from '../../../job/limit-errors.js';
import type { LimitState } from '../../../job/limit.js';
import type { RedisQuestions } from '../../core/client/redis-questions.js';
import type { KeysOf } from '../../core/wire/protocol.js';
import type { Now } from '../../core/wire/scripts.js';
import { fullFirst, numbersText, toLimitState, type Numbers } from './limit-rules.js';
import * as limitScripts from './limit-scripts.js';
import type { LimitsQuery, LimitStore } from './limit-store.js';

/** Most keys of a limit that one call reads: more would block the server. */
const MAX_LIMIT_KEYS = 1000;

/** Reads and changes limits on a Redis server. */
export class RedisLimits implements Omit<LimitStore, 'views'> {
  constructor(
    private readonly questions: RedisQuestions,
    private readonly keysOf: KeysOf,
    private readonly now: () => Now,
  ) {}

  async limits(fn: string, { key, size }: LimitsQuery): Promise<LimitState[]> {
    const { control, limits, jobs, wake } = this.keysOf(fn);
    const one = key === undefined ? 0 : 1;
    const keys = [control, limits, jobs, wake];
    const found = await this.questions.ask(fn, 'Reading limits', (redis) =>
      limitScripts.readLimits.run(redis, keys, this.now(), MAX_LIMIT_KEYS, one, key ?? ''),
    );
    return (found ?? []).map(toLimitState).sort(fullFirst).slice(0, size);
  }

  async setLimit(fn: string, numbers: Numbers | undefined): Promise<void> {
    const text = numbers ? numbersText(numbers) : '';
    const ask: Parameters<typeof limitScripts.changeLimit>[0] = (question) =>
      this.questions.ask(fn, 'Changing the limit', question);
    const isKnown = await limitScripts.changeLimit(ask, this.keysOf(fn), 'override', text, '');
    if (!isKnown) throw new LimitUnknownError(fn);
  }
}
