import type { Feature } from '../../core/feature.js';
import { explainOfLimits } from './limit-rights.js';
import type { LimitsStore } from './limit-store.js';
import { LimitsClient } from './limits-client.js';
import { placeKeys } from './placed-limit.js';
import { RedisLimits } from './redis-limits.js';
import { SourceLimits } from './source-limits.js';

/** Limits by key of a function's jobs: how many run at a time, how many begin in a span, in which order. */
export const limits: Feature<LimitsStore> = {
  name: 'limits',
  store: (server) => new RedisLimits(server),
  explain: explainOfLimits,
  client: LimitsClient,
  source: ({ connections, keysOf }) => ({ keys: new SourceLimits(connections.commands, keysOf) }),
  place: placeKeys,
  settings: ['limit'],
};
