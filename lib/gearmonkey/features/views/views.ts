import type { JobStore } from '../../core/client/job-store.js';
import type { Feature } from '../../core/feature.js';
import type { ViewsStore } from './view-store.js';
import { ViewsClient } from './views-client.js';

/** Lists, searches, failures, statistics and what there is of functions. */
export const views: Feature<JobStore & ViewsStore> = { name: 'views', client: ViewsClient };
