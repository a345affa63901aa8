import { digestOf } from '../../../job/digest.js';
import { defined } from '../../../job/defined.js';
import type { JobErrorInfo } from '../../../job/errors.js';
import type { FailureGroup } from '../../../job/failed-jobs.js';
import type { ListedJob } from '../../../job/job-views.js';

/** Longer messages are compared by their beginning. */
const COMPARED = 1000;
const SHOWN = 200;

/** What differs between errors of one cause, in the order it is replaced. */
const DIFFERENT: readonly (readonly [RegExp, string])[] = [
  [/"[^"]*"|`[^`]*`|(?<!\w)'[^']*'(?!\w)/g, '<text>'],
  [/\b[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}\b/gi, '<id>'],
  [/\b0x[\da-f]+\b/gi, '<id>'],
  [/\b(?=[a-f]*\d)[\da-f]*[a-f][\da-f]*\b/gi, '<id>'],
  [/\d+(?:[.,:]\d+)*/g, '<n>'],
];

/** A message without what differs from job to job: numbers, ids, hexadecimal and quoted text. */
export function commonMessage(message: string): string {
  const start = message.slice(0, COMPARED);
  return DIFFERENT.reduce((text, [pattern, name]) => text.replace(pattern, name), start);
}

/** The cause that has none itself: errors around it, such as an UnrecoverableError, are the same for many causes. */
function innermost(error: JobErrorInfo | undefined): JobErrorInfo | undefined {
  let found = error;
  while (found?.cause) found = found.cause;
  return found;
}

/** The name of an error's group. */
export function groupOf(thrown: JobErrorInfo | undefined): string {
  const error = innermost(thrown);
  const parts = [error?.name ?? '', error?.code ?? '', commonMessage(error?.message ?? '')];
  return digestOf(JSON.stringify(parts));
}

/** What is shown of an error. */
export type ShownError = (error: JobErrorInfo) => JobErrorInfo;

/**
 * Groups jobs, given newest first; the largest group comes first. Groups go by errors as they are, so that their names are those
 * of `groupOf`; `shownOf` gets an error before its message is changed and cut.
 */
export function groupFailures(
  jobs: readonly ListedJob[],
  shownOf: ShownError = (error) => error,
): FailureGroup[] {
  const groups = new Map<string, FailureGroup>();
  for (const { id, error: thrown, times } of jobs) {
    const error = innermost(thrown);
    const group = groupOf(error);
    const found = groups.get(group);
    if (found) {
      groups.set(group, { ...found, count: found.count + 1 });
      continue;
    }
    const { name, code, message } = shownOf(error ?? { name: 'Error', message: '' });
    const first = defined({
      ...{ group, name, code },
      message: commonMessage(message).slice(0, SHOWN),
      count: 1,
      last: times.finished ?? new Date(0),
      sample: id,
      example: message.slice(0, SHOWN),
    });
    groups.set(group, first);
  }
  return [...groups.values()].sort((a, b) => b.count - a.count);
}
