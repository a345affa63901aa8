import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { pack, type Packable } from '../message-pack/pack.js';

const SUFFIX_CHARACTERS = 8;
const WORKER_ID_BYTES = 8;

/** The random part of a job's id, so that it can't be guessed. The first part is its number, of one width so that ids sort by age. */
export function jobIdSuffix(): string {
  // Node generates UUIDs in bulk; a call for random bytes would cost as much as the rest of an id.
  return randomUUID().slice(0, SUFFIX_CHARACTERS);
}

/** @param once gives the same id each time @default a random one */
export function newWorkerId(once?: Packable): string {
  const bytes =
    once === undefined
      ? randomBytes(WORKER_ID_BYTES)
      : createHash('sha256').update(pack(once)).digest().subarray(0, WORKER_ID_BYTES);
  return bytes.toString('hex');
}

/** Whether a master may have made it. Other ids never become part of a key. */
export function isJobId(id: string): boolean {
  return /^[0-9a-f]{12}-[0-9a-f]{8}$/.test(id);
}

export function isWorkerId(id: string): boolean {
  return /^[0-9a-f]{16}$/.test(id);
}
