import { keyOf, type JobName } from './history.js';

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

/** Whether a wait that was given up so many milliseconds after the end had missed it. */
export function hasMissed(late: number, lease: number): boolean {
  return late > lease + 10_000;
}
