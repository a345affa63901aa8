/** Resources that may be short for a moment: descriptors, processes, memory. */
const SHORTAGES = new Set(['EMFILE', 'ENFILE', 'EAGAIN', 'ENOMEM']);

/** Whether a process could not start because of a shortage that may pass, and not because of the job. */
export function isShortage(error: unknown): boolean {
  return error instanceof Error && 'code' in error && SHORTAGES.has(String(error.code));
}
