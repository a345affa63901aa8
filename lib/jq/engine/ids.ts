import { randomBytes } from 'node:crypto';

const SUFFIX_BYTES = 4;
const WORKER_ID_BYTES = 8;

/** A job's id is its number, of one width so that ids sort by age, and this, so that nobody guesses it. */
export function jobIdSuffix(): string {
  return randomBytes(SUFFIX_BYTES).toString('hex');
}

export function newWorkerId(): string {
  return randomBytes(WORKER_ID_BYTES).toString('hex');
}

/** Whether a master made it: what isn't, never becomes part of a key. */
export function isJobId(id: string): boolean {
  return /^[0-9a-f]{12}-[0-9a-f]{8}$/.test(id);
}

export function isWorkerId(id: string): boolean {
  return /^[0-9a-f]{16}$/.test(id);
}
