import { general } from '../lua/values.js';
import { ReplyError } from './reply.js';
import type { Bound } from './sorted-set.js';

/** @throws ReplyError */
export function whole(text: string | undefined): number {
  if (text === undefined || !/^-?\d{1,19}$/.test(text))
    throw new ReplyError('ERR value is not an integer or out of range');
  return Number(text);
}

/** @throws ReplyError */
export function score(text: string | undefined): number {
  const number = scoreOf(text ?? '');
  if (Number.isNaN(number)) throw new ReplyError('ERR value is not a valid float');
  return number;
}

function scoreOf(text: string): number {
  if (/^[-+]?inf(?:inity)?$/i.test(text)) return text.startsWith('-') ? -Infinity : Infinity;
  return text === '' || /\s/.test(text) ? NaN : Number(text);
}

/** One end of a range of scores. @throws ReplyError */
export function bound(text: string | undefined): Bound {
  const isOpen = text?.startsWith('(') ?? false;
  const number = scoreOf(isOpen ? (text ?? '').slice(1) : (text ?? ''));
  if (Number.isNaN(number)) throw new ReplyError('ERR min or max is not a float');
  return { score: number, isOpen };
}

/** A score as a reply has it. */
export function scoreText(number: number): string {
  if (!Number.isFinite(number)) return number < 0 ? '-inf' : 'inf';
  if (Number.isInteger(number) && Math.abs(number) < 1e17) return String(number);
  return general(number, 17);
}

/** Indexes from the beginning, or from the end if they are negative, as the start and the end of a slice. */
export function span(
  first: string | undefined,
  last: string | undefined,
  length: number,
): [start: number, end: number] {
  const [from, to] = [whole(first), whole(last)];
  const start = from < 0 ? Math.max(0, length + from) : from;
  const end = to < 0 ? length + to + 1 : Math.min(length, to + 1);
  return [start, Math.max(start, end)];
}
