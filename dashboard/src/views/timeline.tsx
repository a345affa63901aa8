import type { JobView } from '../api.js';
import { span } from '../format.js';
import { Exactly } from '../ui/time.js';
import { ErrorText } from '../ui/error-text.js';

/** What happened to a job, in order. Of attempts before the last one only their errors are kept. */
export function Timeline({ job }: { job: JobView }) {
  const { times, errors, attempts, state, recurring, stalls } = job;
  const { created, started, finished, scheduled } = times;
  const isOver = finished !== undefined;
  const earlier = isOver ? errors.filter(({ attempt }) => attempt < attempts) : errors;
  return (
    <ol class="timeline">
      <li>
        {recurring ? `Created by the schedule ${recurring.id}` : 'Enqueued'} <Exactly at={created} />
      </li>
      {scheduled !== undefined && attempts === 0 && (
        <li>
          Due <Exactly at={scheduled} />
        </li>
      )}
      {earlier.map((error) => (
        <li key={error.attempt} class="is-failed">
          <details>
            <summary>
              Attempt {error.attempt} failed: {error.message}
            </summary>
            <ErrorText error={error} />
          </details>
        </li>
      ))}
      {stalls > 0 && (
        <li class="is-failed">It lost its worker {stalls === 1 ? 'once' : `${stalls} times`}</li>
      )}
      {state === 'retrying' && (
        <li class="is-retrying">
          Next attempt <Exactly at={scheduled} />
        </li>
      )}
      {started !== undefined && (state === 'running' || isOver) && (
        <li class="is-running">
          Attempt {attempts} began <Exactly at={started} />
          {created !== undefined && attempts === 1 && `, after ${between(created, started)}`}
        </li>
      )}
      {isOver && (
        <li class={`is-${state}`}>
          {state === 'succeeded' ? 'Succeeded' : state === 'cancelled' ? 'Cancelled' : 'Failed for good'}{' '}
          <Exactly at={finished} />
          {started !== undefined && `, after ${between(started, finished)}`}
        </li>
      )}
    </ol>
  );
}

function between(from: string, to: string): string {
  return span(Math.max(0, new Date(to).getTime() - new Date(from).getTime()));
}
