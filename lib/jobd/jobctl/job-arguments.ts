import { constants } from 'node:os';
import { UsageError } from './usage-error.js';
import type { JobAddress } from '../master/manual-jobs.js';

/** `12`, for a worker. @throws UsageError */
export function toId(text: string): number {
  const id = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(id)) throw new UsageError(`'${text}' is not a job's id`);
  return id;
}

/** `12:low`, for a master, which must know the job's target. @throws UsageError */
export function toAddress(text: string): JobAddress {
  const [id = '', ...target] = text.split(':');
  if (target.length === 0) throw new UsageError(`'${text}' must be a job's id and target, such as 12:low`);
  return { id: toId(id), target: target.join(':') };
}

/** `TERM`, `SIGTERM` or `15`, as the number that every daemon understands. @throws UsageError */
export function toSignal(text: string): number {
  if (/^\d{1,2}$/.test(text)) return Number(text);
  const name = text.toUpperCase().replace(/^(?!SIG)/, 'SIG');
  const number = new Map<string, number>(Object.entries(constants.signals)).get(name);
  if (number === undefined) throw new UsageError(`'${text}' is not a signal, such as TERM or 15`);
  return number;
}

export function toConcurrency(text: string): number {
  if (!/^\d+$/.test(text) || Number(text) === 0)
    throw new UsageError(`'${text}' is not a concurrency of 1 or more`);
  return Number(text);
}
