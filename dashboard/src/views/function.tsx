import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { act, ApiFailure, get, type ActReply, type Rights } from '../api.js';
import { say } from '../actions.js';
import { functions, heard, useFunctions, waitingOf } from '../functions.js';
import { count } from '../format.js';
import { useLoad } from '../load.js';
import { href, route } from '../route.js';
import { can, instanceName } from '../session.js';
import { ActButton } from '../ui/act-button.js';
import { Name } from '../ui/name.js';
import { Notice } from '../ui/notice.js';
import { Age } from '../ui/time.js';
import { States } from './overview.js';
import { StatisticsSection } from './statistics-section.js';

/** One function: what there is of it, and what can be done. */
export function FunctionPage() {
  const { fn = '' } = route.value.query;
  const i = instanceName.value;
  useFunctions(i, [fn]);
  const rights = useLoad(JSON.stringify([i, fn]), (signal) => get<Rights>('rights', { i, fn }, signal));
  const one = functions.value.get(i)?.get(fn);
  // One that has got its first job meanwhile.
  useEffect(() => {
    if (one && rights.data?.unknown) rights.reload();
  }, [one === undefined]);
  if (!one && heard.value.has(i) && (rights.data?.unknown || rights.error)) return <NoFunction fn={fn} />;
  const actions = rights.data?.actions ?? [];
  return (
    <>
      <div class="heading">
        <h1 class="name">
          <Name of={fn} />
        </h1>
        {one && <States one={one} />}
        <span class="buttons">
          {one && !one.paused && actions.includes('pause') && (
            <ActButton
              request={{ action: 'pause', fn }}
              title={`Pause ${fn}`}
              says="Its workers begin no more jobs until it is resumed. Those that run go on. Jobs can still be enqueued."
              verb="Pause"
            />
          )}
          {one?.paused && actions.includes('resume') && (
            <ActButton
              request={{ action: 'resume', fn }}
              title={`Resume ${fn}`}
              says="Its workers begin jobs again, at once."
              verb="Resume"
            />
          )}
        </span>
      </div>
      {one?.refused !== undefined && <Notice isError>{one.refused}</Notice>}
      {one && one.refused === undefined && (
        <dl class="tiles">
          <Tile name="Waiting" state="waiting" number={waitingOf(one)} />
          <div>
            <dt>Oldest waits</dt>
            <dd>
              <Age of={one.oldest} />
            </dd>
          </div>
          <Tile name="Running" state="running" number={one.running ?? 0} />
          <Tile name="Scheduled" state="scheduled" number={one.scheduled ?? 0} />
          <Tile name="Retrying" state="retrying" number={one.retrying ?? 0} />
          <Tile name="Failed" state="failed" number={one.failed ?? 0} isBad={(one.failed ?? 0) > 0} />
          <Tile name="Cancelled" state="cancelled" number={one.cancelled ?? 0} />
          <Tile name="Succeeded" state="succeeded" number={one.succeeded ?? 0} />
          <div>
            <dt>Workers</dt>
            <dd>
              <a href={href('workers', { i, fn })}>{count(one.workers ?? 0)}</a>
            </dd>
          </div>
        </dl>
      )}
      <nav class="choices" aria-label="Of this function">
        <a href={href('jobs', { i, fn, state: 'waiting' })}>Jobs</a>
        {can('failures') && <a href={href('failures', { i, fn })}>Errors</a>}
        {can('limits') && <a href={href('limits', { i, fn })}>Limit</a>}
        {can('schedules') && <a href={href('schedules', { i, fn })}>Schedules</a>}
      </nav>
      {can('statistics') && <StatisticsSection fn={fn} />}
      {actions.includes('run') && <RunJob fn={fn} />}
    </>
  );
}

function NoFunction({ fn }: { fn: string }) {
  return (
    <>
      <h1 class="name">
        <Name of={fn} />
      </h1>
      <Notice>
        There is no such function: it has no jobs and no workers, and this app does not define it.
      </Notice>
    </>
  );
}

function Tile({
  name,
  state,
  number,
  isBad,
}: {
  name: string;
  state: string;
  number: number;
  isBad?: boolean;
}) {
  const { fn = '' } = route.value.query;
  return (
    <div>
      <dt>{name}</dt>
      <dd class={isBad ? 'is-bad' : undefined}>
        <a href={href('jobs', { i: instanceName.value, fn, state })}>{count(number)}</a>
      </dd>
    </div>
  );
}

/** Enqueues a job with an input that is written here. */
function RunJob({ fn }: { fn: string }) {
  const input = useSignal('');
  const priority = useSignal<'high' | 'normal' | 'low'>('normal');
  const made = useSignal<string | undefined>(undefined);
  const i = instanceName.value;
  const run = async (event: Event) => {
    event.preventDefault();
    try {
      const text = input.value.trim() === '' ? 'null' : input.value;
      const reply: ActReply = await act({
        i,
        action: 'run',
        fn,
        input: text,
        options: { priority: priority.value },
      });
      made.value = reply.id;
      say(`Job ${reply.id ?? ''} of ${fn} is enqueued.`);
    } catch (error) {
      say(error instanceof ApiFailure ? error.message : String(error), true);
    }
  };
  return (
    <section aria-labelledby="run-title">
      <h2 id="run-title">Run a job</h2>
      <form onSubmit={(event) => void run(event)}>
        <label>
          Input, as JSON
          <textarea
            rows={4}
            spellcheck={false}
            placeholder="null"
            value={input.value}
            onInput={({ currentTarget }) => (input.value = currentTarget.value)}
          />
        </label>
        <div class="row">
          <label>
            Priority{' '}
            <select
              value={priority.value}
              onChange={({ currentTarget }) =>
                (priority.value = currentTarget.value as 'high' | 'normal' | 'low')
              }
            >
              <option>high</option>
              <option>normal</option>
              <option>low</option>
            </select>
          </label>
          <button type="submit" class="primary">
            Run
          </button>
          {made.value !== undefined && <a href={href('job', { i, fn, id: made.value })}>Job {made.value}</a>}
        </div>
      </form>
    </section>
  );
}
