import type { FeatureCheck } from '../core/examination.js';
import { limitChecks } from './limits/limit-checks.js';
import { scheduleChecks } from './schedules/schedule-checks.js';
import { tagChecks } from './tags/tag-checks.js';

/** The features' parts of the doctor. Not in the list of features, which each app loads. */
export const FEATURE_CHECKS: readonly FeatureCheck[] = [limitChecks, scheduleChecks, tagChecks];
