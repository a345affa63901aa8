import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';

/** Nobody else has it, and people see where it runs. */
export function workerName(): string {
  return `${hostname()}-${process.pid}-${randomUUID().slice(0, 8)}`;
}
