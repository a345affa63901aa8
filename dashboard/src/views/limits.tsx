import { useSignal } from '@preact/signals';
import { ask } from '../actions.js';
import { get, type ActRequest, type FunctionView, type LimitView, type Rights } from '../api.js';
import { count } from '../format.js';
import { useLoad } from '../load.js';
import { href, route } from '../route.js';
import { instanceName } from '../session.js';
import { ActButton } from '../ui/act-button.js';
import { Name } from '../ui/name.js';
import { Notice, Read } from '../ui/notice.js';
import { When } from '../ui/time.js';

const AGAIN_MS = 5000;

/** Which keys are full, and who holds them: of one function, or of all that have full keys. */
export function Limits() {
  const { fn } = route.value.query;
  const i = instanceName.value;
  const overview = useLoad(i, (signal) => get<FunctionView[]>('overview', { i }, signal), AGAIN_MS);
  return (
    <>
      <h1>Limits</h1>
      {fn !== undefined ? (
        <LimitOf fn={fn} />
      ) : (
        <Read from={overview}>
          {(all) => {
            const full = all.filter(({ limitsFull = 0 }) => limitsFull > 0);
            if (full.length === 0) return <Notice>No limit is full. Open a function to see its keys.</Notice>;
            return full.map((one) => <LimitOf key={one.fn} fn={one.fn} />);
          }}
        </Read>
      )}
    </>
  );
}

function LimitOf({ fn }: { fn: string }) {
  const i = instanceName.value;
  const key = JSON.stringify([i, fn]);
  const limits = useLoad(key, (signal) => get<LimitView[]>('limits', { i, fn }, signal), AGAIN_MS);
  const rights = useLoad(key, (signal) => get<Rights>('rights', { i, fn }, signal));
  return (
    <section>
      <h2>
        <a class="name" href={href('fn', { i, fn })}>
          <Name of={fn} />
        </a>
      </h2>
      <Read from={limits}>
        {(all) =>
          all.length === 0 ? (
            <Notice>{fn} has no limit, or none of its keys has jobs.</Notice>
          ) : (
            <>
              <Keys fn={fn} all={all} />
              {rights.data?.actions.includes('limit-set') && <ChangeLimit fn={fn} reload={limits.reload} />}
            </>
          )
        }
      </Read>
    </section>
  );
}

function Keys({ fn, all }: { fn: string; all: readonly LimitView[] }) {
  const i = instanceName.value;
  return (
    <div class="scroll">
      <table>
        <thead>
          <tr>
            <th scope="col">Key</th>
            <th scope="col" class="number">
              Waiting
            </th>
            <th scope="col" class="number">
              Running
            </th>
            <th scope="col">State</th>
          </tr>
        </thead>
        <tbody>
          {all.map(({ key, waiting, running, full, fullUntil, heldBy }) => (
            <tr key={key}>
              <th scope="row">
                <a data-row class="name" href={href('jobs', { i, fn, key })}>
                  {key === '' ? '(empty)' : <Name of={key} />}
                </a>
              </th>
              <td class="number">{count(waiting)}</td>
              <td class="number">{count(running)}</td>
              <td>
                {full ? <span class="badge is-limit">full</span> : <span class="dim">free</span>}{' '}
                {fullUntil !== undefined && (
                  <>
                    until <When at={fullUntil} />
                  </>
                )}
                {heldBy !== undefined && (
                  <>
                    {' '}
                    held by <a href={href('job', { i, fn, id: heldBy })}>job {heldBy}</a>
                  </>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Other numbers for a while, in place of those in the app's code. */
function ChangeLimit({ fn, reload }: { fn: string; reload: () => void }) {
  const concurrency = useSignal('');
  const max = useSignal('');
  const per = useSignal('');
  const submit = (event: Event) => {
    event.preventDefault();
    const limit = {
      ...(concurrency.value !== '' && { concurrency: Number(concurrency.value) }),
      ...(max.value !== '' && { rate: { max: Number(max.value), per: per.value || '1s' } }),
    };
    const request: ActRequest = { i: instanceName.value, action: 'limit-set', fn, limit };
    const says = 'These numbers hold for each key, on all workers, until they are reset to those of the app.';
    ask({ request, title: `Change the limit of ${fn}`, says, verb: 'Change it', done: reload });
  };
  const field = (name: string, value: typeof max, placeholder = '–') => (
    <label>
      {name}{' '}
      <input
        type="text"
        inputMode={placeholder === '–' ? 'numeric' : 'text'}
        size={6}
        placeholder={placeholder}
        value={value.value}
        onInput={({ currentTarget }) => (value.value = currentTarget.value)}
      />
    </label>
  );
  return (
    <form onSubmit={submit} class="row">
      {field('Running at once', concurrency)}
      {field('Starts', max)}
      {field('in', per, '1s')}
      <button type="submit" disabled={concurrency.value === '' && max.value === ''}>
        Change the limit
      </button>
      <ActButton
        request={{ action: 'limit-reset', fn }}
        title={`Reset the limit of ${fn}`}
        says="The numbers of the app hold again."
        verb="Reset it"
        label="Reset"
        done={reload}
      />
    </form>
  );
}
