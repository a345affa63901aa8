/** What a start lacks for the moment: descriptors, processes, memory. */
const SHORTAGES = new Set(['EMFILE', 'ENFILE', 'EAGAIN', 'ENOMEM']);

/** Whether a process could not be started for something that others may give back: not the job's fault. */
export function isShortage(error: unknown): boolean {
  return error instanceof Error && 'code' in error && SHORTAGES.has(String(error.code));
}
