import { keyOf, type Away, type JobName } from './history.js';

/** Something that must never be. */
export interface Violation {
  readonly invariant: string;
  readonly subject: string;
  readonly detail: string;
}

export const found = (subject: JobName | string, detail: string): Violation => ({
  invariant: '',
  subject: typeof subject === 'string' ? subject : keyOf(subject),
  detail,
});

/** Milliseconds between two times in which the server was there. It may take long to read its file after it was killed. */
export function upBetween(from: number, to: number, away: readonly Away[] = []): number {
  const gone = away.map(([began, ended]) => Math.max(0, Math.min(to, ended) - Math.max(from, began)));
  return gone.reduce((left, ms) => left - ms, to - from);
}

/** Whether a wait that was given up so many milliseconds after the end had missed it. */
export function hasMissed(late: number, lease: number): boolean {
  return late > lease + 10_000;
}
