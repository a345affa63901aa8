import { defined } from '../../job/defined.js';
import type { Raw } from '../message-pack/raw.js';
import { MAX_INT32, type Fields } from './fields.js';

/** `POST /worker-job`, and the reply of a pull. */
export interface WorkerJob {
  readonly id: string;
  readonly name: string;
  readonly argument: Raw;
  /** Seconds. */
  readonly timeout: number;
  /** Fences this hand-over off from others of the job. A master that knows the contract alone doesn't send it. */
  readonly attempt?: number;
  /** How often the job was begun before. */
  readonly retryCount: number;
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
  });
}
