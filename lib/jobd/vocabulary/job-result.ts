/** How a job's process ended, as in the reply to `run-manual` and the row's columns. */
export interface JobResult {
  /** `ok` if the process exited with code 0. */
  readonly result: 'ok' | 'fail';
  /** `null` if a signal ended the process, or it never started. */
  readonly code: number | null;
  /** The signal's name, such as `SIGTERM`. */
  readonly signal: string | null;
  readonly stdout: string;
  /** The process's stderr; the reason if none could be started. */
  readonly stderr: string;
  /** No process could be started, because descriptors, processes or memory were short. It may be tried again. */
  readonly isShort?: boolean;
}
