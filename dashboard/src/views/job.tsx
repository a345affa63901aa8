import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import type { Action, ErrorView, JobView } from '../api.js';
import { count, many } from '../format.js';
import { useLive } from '../live.js';
import { href, route } from '../route.js';
import { instanceName } from '../session.js';
import { ActButton } from '../ui/act-button.js';
import { Notice } from '../ui/notice.js';
import { StateBadge } from '../ui/state.js';
import { Exactly } from '../ui/time.js';
import { EditJob } from './edit-job.js';
import { Payload } from './payload.js';
import { Search } from './jobs.js';
import { Timeline } from './timeline.js';

/** A job's whole life, as it goes on. */
export function JobPage() {
  const { fn = '', id = '' } = route.value.query;
  const i = instanceName.value;
  const job = useSignal<JobView | null | undefined>(undefined);
  const trouble = useSignal<string | undefined>(undefined);
  useEffect(() => void (job.value = undefined), [i, fn, id]);
  useLive([{ job: id, i, fn }], {
    job: (event) => {
      if (event.i !== i || event.fn !== fn || event.id !== id) return;
      // What is gone is still shown, and said to be gone.
      if (event.job || !job.value) job.value = event.job;
      else trouble.value = 'This job is no longer kept. This is what it was.';
    },
    trouble: ({ error }) => (trouble.value = error.message),
  });
  const one = job.value;
  return (
    <>
      <div class="heading">
        <h1>
          <a class="name" href={href('fn', { i, fn })}>
            {fn}
          </a>{' '}
          {id}
        </h1>
        {one && <StateBadge state={one.state} />}
        <Search fn={fn} />
      </div>
      {trouble.value !== undefined && <Notice isError>{trouble.value}</Notice>}
      {one === undefined && <p class="dim loading">Loading…</p>}
      {one === null && (
        <Notice>There is no such job: it never existed, or it has ended and is no longer kept.</Notice>
      )}
      {one && <Whole job={one} key={`${fn} ${id}`} />}
    </>
  );
}

function Whole({ job }: { job: JobView }) {
  const { progress, error, headers, errors } = job;
  const names = Object.entries(headers);
  return (
    <>
      <Actions job={job} />
      {progress && (
        <p class="row">
          <progress max={progress.divisor} value={progress.dividend} aria-label="Progress" />
          {count(progress.dividend)} of {count(progress.divisor)}
        </p>
      )}
      <Facts job={job} />
      {error && (
        <Section title={errors.length > 1 ? `Error of the last of ${errors.length} attempts` : 'Error'}>
          <ErrorText error={error} />
        </Section>
      )}
      <Section title="Timeline">
        <Timeline job={job} />
      </Section>
      <Payload job={job} part="input" />
      <Payload job={job} part="output" />
      {names.length > 0 && (
        <Section title="Headers">
          <dl class="facts">
            {names.map(([name, value]) => (
              <Fact key={name} name={name}>
                <code>{value}</code>
              </Fact>
            ))}
          </dl>
        </Section>
      )}
      <More job={job} />
    </>
  );
}

/** What can be done in which state. */
const POSSIBLE: Readonly<Record<string, readonly Action[]>> = {
  waiting: ['cancel', 'edit'],
  scheduled: ['cancel', 'edit'],
  retrying: ['cancel'],
  running: ['cancel'],
  failed: ['retry', 'discard'],
  cancelled: ['retry', 'discard'],
};

function Actions({ job }: { job: JobView }) {
  const { fn, id, state, actions } = job;
  const isOpen = useSignal(false);
  const may = (action: Action) => actions.includes(action) && POSSIBLE[state]?.includes(action);
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

function Facts({ job }: { job: JobView }) {
  const { times, attempts, stalls, snoozes, key, unique, tags, recurring, fn } = job;
  const i = instanceName.value;
  return (
    <dl class="facts">
      <Fact name="Created">
        <Exactly at={times.created} />
      </Fact>
      {times.scheduled !== undefined && (
        <Fact name="Due">
          <Exactly at={times.scheduled} />
        </Fact>
      )}
      {times.expires !== undefined && (
        <Fact name="Expires">
          <Exactly at={times.expires} />
        </Fact>
      )}
      <Fact name="Attempts">
        {count(attempts)}
        {stalls > 0 && `, lost its worker ${many(stalls, 'time')}`}
        {snoozes > 0 && `, postponed ${many(snoozes, 'time')}`}
      </Fact>
      {tags && tags.length > 0 && (
        <Fact name="Tags">
          {tags.map((tag) => (
            <a key={tag} class="tag" href={href('jobs', { i, fn, tag })}>
              {tag}
            </a>
          ))}
        </Fact>
      )}
      {key !== undefined && (
        <Fact name="Key of the limit">
          <a class="tag" href={href('jobs', { i, fn, key })}>
            {key}
          </a>
        </Fact>
      )}
      {unique !== undefined && <Fact name="Unique key">{unique}</Fact>}
      {recurring && (
        <Fact name="Schedule">
          <a href={href('schedules', { i, fn })}>{recurring.id}</a>, for <Exactly at={recurring.slot} />
        </Fact>
      )}
    </dl>
  );
}

function More({ job: { options, more } }: { job: JobView }) {
  const fields = Object.entries(more);
  if (options === undefined && fields.length === 0) return null;
  return (
    <details>
      <summary>Further fields</summary>
      <dl class="facts">
        {options !== undefined && (
          <Fact name="options">
            <code>{options}</code>
          </Fact>
        )}
        {fields.map(([name, value]) => (
          <Fact key={name} name={name}>
            <code>{value}</code>
          </Fact>
        ))}
      </dl>
    </details>
  );
}

export function ErrorText({ error: { name, message, code, stack, cause } }: { error: ErrorView }) {
  return (
    <div class="error-text">
      <p class="is-bad">
        <strong>{name}</strong>
        {code !== undefined && <code> {code}</code>}: {message}
      </p>
      {stack !== undefined && <pre tabIndex={0}>{stack}</pre>}
      {cause && (
        <details>
          <summary>Caused by</summary>
          <ErrorText error={cause} />
        </details>
      )}
    </div>
  );
}

export function Section({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <section>
      <h2>{title}</h2>
      {children}
    </section>
  );
}

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
