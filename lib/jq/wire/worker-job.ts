import { defined } from '../../job/defined.js';
import type { Raw } from '../message-pack/raw.js';
import { MAX_INT32, type Fields } from './fields.js';

/** The body of `POST /worker-job`, and the reply to a pull. */
export interface WorkerJob {
  readonly id: string;
  readonly name: string;
  readonly argument: Raw;
  /** Seconds. */
  readonly timeout: number;
  /** Tells this hand-out from others of the job. Masters that only implement the contract don't send it. */
  readonly attempt?: number;
  /** How often the job was begun before. */
  readonly retryCount: number;
  /** Whether it ends if it fails. Masters that only implement the contract don't say. */
  readonly isLast: boolean;
  /** How long the pull that got it had waited when it was handed out, in milliseconds. */
  readonly waited?: number;
}

/** @throws InvalidFieldError */
export function readWorkerJob(fields: Fields): WorkerJob {
  return defined({
    id: fields.optionalText('id') ?? fields.text('job_id'),
    name: fields.text('name'),
    argument: fields.map('argument'),
    timeout: fields.integer('timeout', { min: 1, max: MAX_INT32 }),
    attempt: fields.has('attempt') ? fields.integer('attempt', { min: 1, max: MAX_INT32 }) : undefined,
    retryCount: fields.integer('retry_count', { default: 0, min: 0, max: MAX_INT32 }),
    isLast: fields.boolean('last_attempt', false),
    waited: fields.has('waited_ms') ? fields.integer('waited_ms', { min: 0, max: MAX_INT32 }) : undefined,
  });
}
