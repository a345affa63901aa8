import type { Call } from '../../redis/rights.js';
import type { Feature } from '../core/feature.js';
import type { FunctionKeys } from '../core/wire/protocol.js';
import type { Role } from '../core/wire/rights.js';
import type { EditsStore } from './edits/edit-store.js';
import type { EditsClient } from './edits/edits-client.js';
import { edits } from './edits/edits.js';
import type { FlowsStore } from './flows/flow-store.js';
import type { FlowsClient } from './flows/flows-client.js';
import { flows } from './flows/flows.js';
import { keep } from './keep/keep.js';
import type { LimitsStore } from './limits/limit-store.js';
import type { LimitsClient } from './limits/limits-client.js';
import { limits } from './limits/limits.js';
import type { SchedulesStore } from './schedules/schedule-store.js';
import type { SchedulesClient } from './schedules/schedules-client.js';
import { schedules } from './schedules/schedules.js';
import { signals, type SignalsClient, type SignalsStore } from './signals/signals.js';
import { statistics, type StatisticsClient, type StatisticsStore } from './statistics/statistics.js';
import { steps } from './steps/steps.js';
import type { StreamsStore } from './streams/stream-store.js';
import type { StreamsClient } from './streams/streams-client.js';
import { streams } from './streams/streams.js';
import { tags } from './tags/tags.js';
import { unique } from './unique/unique.js';
import type { ViewsStore } from './views/view-store.js';
import type { ViewsClient } from './views/views-client.js';
import { views } from './views/views.js';

/** What a plain job and the features ask of a server, each under its name. */
export interface GearMonkeyStore
  extends
    EditsStore,
    FlowsStore,
    LimitsStore,
    SchedulesStore,
    SignalsStore,
    StatisticsStore,
    StreamsStore,
    ViewsStore {}

/** The parts of a store that features bring. */
export type FeatureStores = Pick<
  GearMonkeyStore,
  'edits' | 'flows' | 'limits' | 'schedules' | 'signals' | 'statistics' | 'streams' | 'views'
>;

/** The methods that the features give to a client. */
export interface FeatureMethods
  extends
    EditsClient,
    FlowsClient,
    LimitsClient,
    SchedulesClient,
    SignalsClient,
    StatisticsClient,
    StreamsClient,
    ViewsClient {}

/** All features. New jobs are placed in this order: unique ones behind limits, and what tags say behind both. */
export const FEATURES: readonly Feature<GearMonkeyStore>[] = [
  edits,
  flows,
  keep,
  limits,
  schedules,
  signals,
  statistics,
  steps,
  streams,
  unique,
  tags,
  views,
];

/** What features read of definitions when jobs are created. */
export const JOB_SETTINGS = FEATURES.flatMap(({ settings = [] }) => settings);

/** The calls that a role needs for features, beside those of plain jobs. */
export function featureRights(role: Role, k: FunctionKeys): Call[] {
  return FEATURES.flatMap((feature) => feature.rights?.(role, k) ?? []);
}
