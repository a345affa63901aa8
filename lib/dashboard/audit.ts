import { Logger } from '@nestjs/common';
import { channel } from 'node:diagnostics_channel';
import type { Action, ApiError } from './api.js';

/** What a user did with the dashboard, or was refused: published on the diagnostics channel `gearmonkey:audit`. */
export interface AuditEvent {
  readonly user: string;
  /**
   * `view` is a look that was refused, `bulk-cancel` ends a run on many jobs, `login-refused` is a wrong password of basicAuth
   * with the address as `target`, `other` is a refused request that names none.
   */
  readonly action: Action | 'view' | 'bulk-cancel' | 'login-refused' | 'other';
  readonly instance: string;
  readonly fn: string;
  /** A job's or schedule's id, or which jobs, as text. */
  readonly target?: string;
  /** The id of the job that was made. */
  readonly job?: string;
  /** The numbers that a limit has now. */
  readonly limit?: {
    readonly concurrency?: number;
    readonly rate?: { readonly max: number; readonly per: number | string };
  };
  /** All functions that were concerned, if more than one. */
  readonly functions?: readonly string[];
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
  const { at: _, error, ...rest } = event;
  const text = JSON.stringify({ ...rest, error: error?.code });
  if (error) log.warn(`audit ${text}`);
  else log.log(`audit ${text}`);
}
