import type { Fields } from './history.js';

export const isFinal = (fields: Fields | undefined): boolean =>
  fields?.['status'] === 'success' || fields?.['status'] === 'error';

/** A job that the plain worker ended has a result of its own, and none of our fields. */
export const isOurs = (fields: Fields): boolean => fields['settled'] !== undefined;

export const isStalled = (fields: Fields): boolean => codeOf(fields) === 'JOB_STALLED';

const TOKENS_A_JOB = 1_000_000;

/** Whether a claim is one of this job: after a failover another job may have the id, and then it has another mark. */
export function isOfMark({ token }: { readonly token: number }, fields: Fields | undefined): boolean {
  return fields !== undefined && token - (token % TOKENS_A_JOB) === Number(fields['mark'] ?? 0);
}

/** The code of the job's error. */
export function codeOf(fields: Fields): string | undefined {
  return (parse(fields['error']) as { code?: string } | undefined)?.code;
}

/** The name that is in the job's input alone; plain clients give none. */
export function nameOf(fields: Fields): string | undefined {
  const input = parse(fields['input']) as string | { n?: string } | null | undefined;
  return typeof input === 'string' ? input : input?.n;
}

export function kindOf(fields: Fields): string {
  return (parse(fields['input']) as { kind?: string } | null | undefined)?.kind ?? 'shared';
}

/** A string in JSON, or as it is: plain clients send either. */
export function bare(text = ''): string {
  return text.replace(/^"(.*)"$/s, '$1');
}

/** What isn't JSON says nothing. */
export function parse(json = ''): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
