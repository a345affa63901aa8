import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { ask } from '../actions.js';
import { ApiFailure, get, type ActRequest, type JobView, type PayloadView } from '../api.js';
import { instanceName } from '../session.js';
import { Notice } from '../ui/notice.js';

/** Changes the input or the queue of a job that has not begun. */
export function EditJob({ job: { fn, id, input: stored }, done }: { job: JobView; done: () => void }) {
  const i = instanceName.value;
  const text = useSignal<string | undefined>(undefined);
  const before = useSignal('');
  const problem = useSignal<string | undefined>(undefined);
  const priority = useSignal('');
  useEffect(() => {
    if (!stored) return void (text.value = '');
    get<PayloadView>('payload', { i, fn, id, part: 'input' }).then(
      (payload) => {
        if (payload.cut || payload.redacted || payload.encoding !== 'utf8')
          problem.value = 'This input is not shown whole, so it can’t be edited here. Its priority can.';
        else before.value = text.value = payload.text;
      },
      (error: unknown) => (problem.value = error instanceof ApiFailure ? error.message : String(error)),
    );
  }, []);
  const submit = (event: Event) => {
    event.preventDefault();
    const request: ActRequest = {
      ...{ i, action: 'edit', fn, id },
      ...(text.value !== undefined && text.value !== before.value && { input: text.value }),
      ...(priority.value !== '' && { options: { priority: priority.value as 'high' | 'normal' | 'low' } }),
    };
    const says = 'The job keeps its id. If it begins meanwhile, nothing is changed.';
    ask({ request, title: `Change job ${id} of ${fn}`, says, verb: 'Change it', done });
  };
  return (
    <form onSubmit={submit} class="edit">
      {problem.value !== undefined && <Notice isError>{problem.value}</Notice>}
      {text.value !== undefined && (
        <label>
          Input, as JSON
          <textarea
            rows={8}
            spellcheck={false}
            value={text.value}
            onInput={({ currentTarget }) => (text.value = currentTarget.value)}
          />
        </label>
      )}
      <div class="row">
        <label>
          Priority{' '}
          <select
            value={priority.value}
            onChange={({ currentTarget }) => (priority.value = currentTarget.value)}
          >
            <option value="">as it is</option>
            <option>high</option>
            <option>normal</option>
            <option>low</option>
          </select>
        </label>
        <button type="submit" class="primary">
          Change
        </button>
        <button type="button" onClick={done}>
          Close
        </button>
      </div>
    </form>
  );
}
