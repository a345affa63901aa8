import { useSignal } from '@preact/signals';
import type { Action, JobView } from '../api.js';
import { ActButton } from '../ui/act-button.js';
import { EditJob } from './edit-job.js';

/** What can be done in which state. */
const POSSIBLE: Readonly<Record<string, readonly Action[]>> = {
  waiting: ['cancel', 'edit'],
  scheduled: ['cancel', 'edit'],
  retrying: ['cancel'],
  running: ['cancel'],
  failed: ['retry', 'discard'],
  cancelled: ['retry', 'discard'],
};

export function JobActions({ job }: { job: JobView }) {
  const { fn, id, state, actions } = job;
  const isOpen = useSignal(false);
  // What a handler has run can't be edited any more.
  const hasBegun = job.attempts + job.snoozes > 0;
  const may = (action: Action) =>
    actions.includes(action) && POSSIBLE[state]?.includes(action) && !(action === 'edit' && hasBegun);
  return (
    <>
      <div class="buttons">
        {may('retry') && (
          <ActButton
            request={{ action: 'retry', fn, id }}
            title={`Retry job ${id} of ${fn}`}
            says="It is put back into its queue and runs again, with all its attempts."
            verb="Retry"
          />
        )}
        {may('cancel') && (
          <ActButton
            request={{ action: 'cancel', fn, id }}
            title={`Cancel job ${id} of ${fn}`}
            says={
              state === 'running'
                ? 'Its handler is told to stop; it ends as cancelled.'
                : 'It is not run, and ends as cancelled.'
            }
            verb="Cancel it"
            label="Cancel"
            isDangerous
          />
        )}
        {may('discard') && (
          <ActButton
            request={{ action: 'discard', fn, id }}
            title={`Discard job ${id} of ${fn}`}
            says="It is deleted. This can't be taken back."
            verb="Discard it"
            label="Discard"
            isDangerous
          />
        )}
        {may('edit') && (
          <button type="button" aria-expanded={isOpen.value} onClick={() => (isOpen.value = !isOpen.value)}>
            Edit
          </button>
        )}
      </div>
      {isOpen.value && may('edit') && <EditJob job={job} done={() => (isOpen.value = false)} />}
    </>
  );
}
