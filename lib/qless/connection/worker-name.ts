import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';

/** Unique, and it shows people where the worker runs. */
export function workerName(): string {
  return `${hostname()}-${process.pid}-${randomUUID().slice(0, 8)}`;
}
