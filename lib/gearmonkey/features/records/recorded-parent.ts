import { JOB_RETRIED, type FlowEntry, type RecordedParent } from '../../../job/flows.js';
import { isFinal } from '../../../job/job-state.js';
import { errorOf, stateOf, textOf, type StoredJob } from '../../core/wire/stored-job.js';

/** What is read of a parent. */
export const PARENT_FIELDS = ['status', 'mark', 'output', 'error', 'cancelled'] as const;

/** A parent from the values of `PARENT_FIELDS`. One with another mark is another job. */
export function parentFrom(
  { fn, id, mark }: FlowEntry,
  values: readonly (Uint8Array | null | undefined)[],
): RecordedParent {
  const stored: StoredJob = new Map(
    PARENT_FIELDS.flatMap((field, i) => (values[i] ? [[field, values[i]] as const] : [])),
  );
  const base = { fn, id, output: stored.get('output') ?? new Uint8Array() };
  const isLost = mark !== '' && (textOf(stored, 'mark') || '0') !== mark;
  if (isLost || !stored.get('status')?.byteLength) return { ...base, state: 'lost' };
  const state = stateOf(stored, 0);
  // It had ended, or the job would not run.
  if (!isFinal(state))
    return { ...base, state: 'failed', error: { ...JOB_RETRIED, message: 'had failed, and was retried' } };
  return state === 'succeeded' ? { ...base, state } : { ...base, state, error: errorOf(stored) };
}
