import type { JobState } from '../../../lib/job/job-state.js';

interface Props {
  readonly state: JobState | 'paused';
  /** The signals that a job waits for. */
  readonly waitsFor?: readonly string[] | undefined;
}

/** By colour and by word. */
export function StateBadge({ state, waitsFor }: Props) {
  const isWaiting = waitsFor !== undefined && state === 'scheduled';
  return <span class={`badge is-${state}`}>{isWaiting ? 'waits for a signal' : state}</span>;
}
