/**
 * Where a job stands. It waits for a worker, for a time, or for its next attempt; it runs; or it has ended in one of three
 * ways. A scheduled job may wait for other jobs or signals, too.
 */
export type JobState =
  'waiting' | 'scheduled' | 'retrying' | 'running' | 'succeeded' | 'failed' | 'cancelled';

/** All of them, in the order of a job's life. */
export const JOB_STATES: readonly JobState[] = [
  'waiting',
  'scheduled',
  'retrying',
  'running',
  'succeeded',
  'failed',
  'cancelled',
];

/** How a job ends. */
export type FinalState = Extract<JobState, 'succeeded' | 'failed' | 'cancelled'>;

/** Whether a job in this state has ended. Only a retry by an operator makes it wait again. */
export function isFinal(state: JobState): state is FinalState {
  return state === 'succeeded' || state === 'failed' || state === 'cancelled';
}
