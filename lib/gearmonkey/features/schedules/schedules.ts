import type { JobStore } from '../../core/client/job-store.js';
import type { Feature } from '../../core/feature.js';
import type { SchedulesStore } from './schedule-store.js';
import { SchedulesClient } from './schedules-client.js';

/** Jobs that recur. */
export const schedules: Feature<JobStore & SchedulesStore> = { name: 'schedules', client: SchedulesClient };
