import { JOB_RETRIED, type FlowEntry, type RecordedParent } from '../../job/flows.js';
import { errorOf, type StoredJob } from './stored-job.js';

/** A parent from its fields status, mark, output and error. One with another mark is another job. */
export function parentFrom(
  { fn, id, mark }: FlowEntry,
  [status, stored, output, error]: readonly (Uint8Array | null | undefined)[],
): RecordedParent {
  const text = (bytes: Uint8Array | null | undefined) => (bytes ? Buffer.from(bytes).toString() : '');
  const isLost = mark !== '' && (text(stored) || '0') !== mark;
  const base = { fn, id, output: output ?? new Uint8Array() };
  if (isLost || !status) return { ...base, status: 'lost' };
  // It had ended, or the job would not run.
  if (text(status) === 'idle' || text(status) === 'busy')
    return { ...base, status: 'error', error: { ...JOB_RETRIED, message: 'had failed, and was retried' } };
  if (text(status) === 'success') return { ...base, status: 'success' };
  const fields = { output, error };
  const hash: StoredJob = new Map(
    Object.entries(fields).flatMap(([key, value]) => (value ? [[key, value]] : [])),
  );
  return { ...base, status: 'error', error: errorOf(hash) };
}
