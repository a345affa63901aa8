import { Logger } from '@nestjs/common';
import { channel } from 'node:diagnostics_channel';
import type { Action, ApiError } from './api.js';

/** What a user did with the dashboard, or was refused: published on the diagnostics channel `gearmonkey:audit`. */
export interface AuditEvent {
  readonly user: string;
  readonly action: Action;
  readonly instance: string;
  readonly fn: string;
  /** A job's or schedule's id, or which jobs, as text. */
  readonly target?: string;
  /** How many jobs were changed, once that is known. */
  readonly count?: number;
  readonly at: Date;
  readonly error?: ApiError;
}

const audits = channel('gearmonkey:audit');
const log = new Logger('Dashboard');

/** Publishes and logs an event. Names come from people: control characters can't forge lines. */
export function audit(event: AuditEvent): void {
  audits.publish(event);
  const { user, action, instance, fn, target, count, error } = event;
  const text = JSON.stringify({ user, action, instance, fn, target, count, error: error?.code });
  if (error) log.warn(`audit ${text}`);
  else log.log(`audit ${text}`);
}
