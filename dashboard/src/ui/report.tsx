import { useEffect } from 'preact/hooks';
import { bulks, report } from '../actions.js';
import { post, type BulkView } from '../api.js';
import { count, many } from '../format.js';
import { useLive } from '../live/live.js';

const SHOWN_MS = 8000;

/** What was done last, and runs over many jobs as they go. */
export function Reports() {
  const last = report.value;
  useEffect(() => {
    if (!last || last.isError) return undefined;
    const timer = setTimeout(() => (report.value = undefined), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [last]);
  const ids = [...bulks.value].flatMap(([id, view]) => (view && view.state !== 'running' ? [] : [id]));
  return (
    <div class="reports">
      <div role="status" aria-live="polite">
        {last && (
          <div class={last.isError ? 'report is-error' : 'report'}>
            {last.text}
            <button type="button" class="link" onClick={() => (report.value = undefined)}>
              Close
            </button>
          </div>
        )}
      </div>
      {[...bulks.value].map(([id, view]) => view && <Bulk key={id} view={view} />)}
      {ids.length > 0 && <Watch ids={ids} />}
    </div>
  );
}

function Watch({ ids }: { ids: readonly string[] }) {
  useLive(
    ids.map((bulk) => ({ bulk })),
    { bulk: (view) => (bulks.value = new Map(bulks.value).set(view.id, view)) },
  );
  return null;
}

const VERBS: Readonly<Record<string, string>> = {
  retry: 'retried',
  discard: 'discarded',
  cancel: 'cancelled',
};

function Bulk({ view }: { view: BulkView }) {
  const { id, fn, action, done, of, state, error } = view;
  const close = () => {
    const left = new Map(bulks.value);
    left.delete(id);
    bulks.value = left;
  };
  const what = `${many(done, 'job')} of ${fn} ${VERBS[action] ?? action}`;
  const label = `${what}${of === undefined || state !== 'running' ? '' : ` of ${count(of)}`}`;
  return (
    <div class={state === 'failed' ? 'report is-error' : 'report'} data-bulk={state}>
      <span>
        {label}
        {state === 'cancelled' && ', then stopped'}
        {error && `: ${error.message}`}
      </span>
      {state === 'running' && (
        <progress max={of ?? 1} value={of === undefined ? 0 : done} aria-label={label} />
      )}
      {state === 'running' ? (
        <button type="button" class="link" onClick={() => void post('bulk/cancel', { id })}>
          Stop
        </button>
      ) : (
        <button type="button" class="link" onClick={close}>
          Close
        </button>
      )}
    </div>
  );
}
