import { Logger } from '@nestjs/common';
import { printable } from '../job/printable.js';
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
  /** The id of a run on many jobs. */
  readonly bulk?: string;
  /** Of a run: it has an event before its first change and one when it has ended, which the end of the app may prevent. */
  readonly phase?: 'begin' | 'end';
  readonly at: Date;
  readonly error?: ApiError;
}

const audits = channel('gearmonkey:audit');
const log = new Logger('Dashboard');
const WARN_MS = 1000;

/** Publishes and logs an event. Names come from people: control characters can't forge lines. */
export function audit(event: AuditEvent): void {
  audits.publish(event);
  if (event.error) log.warn(lineOf(event));
  else log.log(lineOf(event));
}

/** Events of requests without a user: each is published, and one a second is logged, with how many there were. */
export class ThrottledAudit {
  #warnAt = -Infinity;
  #untold = 0;

  tell(event: AuditEvent, now = performance.now()): void {
    audits.publish(event);
    this.#untold++;
    if (now - this.#warnAt < WARN_MS) return;
    log.warn(lineOf({ ...event, count: this.#untold }));
    this.#warnAt = now;
    this.#untold = 0;
  }
}

function lineOf(event: AuditEvent): string {
  const { at: _, error, ...rest } = event;
  return `audit ${printable(JSON.stringify({ ...rest, error: error?.code }))}`;
}
