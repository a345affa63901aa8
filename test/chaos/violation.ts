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
