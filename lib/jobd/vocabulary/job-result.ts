/** How a job's process ended: what `run-manual` answers and the row's columns hold. */
export interface JobResult {
  /** `ok` where the process exited with code 0. */
  readonly result: 'ok' | 'fail';
  /** `null` where a signal ended the process, or where it never started. */
  readonly code: number | null;
  /** The signal's name, such as `SIGTERM`. */
  readonly signal: string | null;
  readonly stdout: string;
  /** The process's; where none could be started, the reason. */
  readonly stderr: string;
  /** No process could be started, for want of descriptors, processes or memory: it may be tried again. */
  readonly isShort?: boolean;
}
