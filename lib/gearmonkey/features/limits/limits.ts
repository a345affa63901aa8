import type { JobStore } from '../../core/client/job-store.js';
import type { Feature } from '../../core/feature.js';
import { createLimited } from './create-limited.js';
import type { LimitStore } from './limit-store.js';
import { LimitsClient } from './limits-client.js';
import { placeKeys } from './placed-limit.js';

/** Limits by key of a function's jobs: how many run at a time, how many begin in a span, in which order. */
export const limits: Feature<JobStore & LimitStore> = {
  name: 'limits',
  client: LimitsClient,
  create: createLimited,
  place: placeKeys,
};
