import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { get, type JobView } from '../api.js';
import { count, many, span } from '../format.js';
import { noteRead, noteTrouble, troubles } from '../functions.js';
import { refusal, useLive } from '../live/live.js';
import { href, route } from '../route.js';
import { instanceName } from '../session.js';
import { Name } from '../ui/name.js';
import { Notice } from '../ui/notice.js';
import { StateBadge } from '../ui/state.js';
import { Exactly } from '../ui/time.js';
import { ErrorText } from '../ui/error-text.js';
import { Flow } from './flow.js';
import { JobActions } from './job-actions.js';
import { Payload } from './payload.js';
import { Search } from './search.js';
import { Stream } from './stream.js';
import { Timeline } from './timeline.js';

/** A job's whole life, as it goes on. */
export function JobPage() {
  const { fn = '', id = '' } = route.value.query;
  const i = instanceName.value;
  const job = useSignal<JobView | null | undefined>(undefined);
  const isGone = useSignal(false);
  const refused = useSignal<string | undefined>(undefined);
  useEffect(() => {
    job.value = undefined;
    isGone.value = false;
    refused.value = undefined;
    // Read at once: a stream that also tells of many functions takes its time.
    const leaving = new AbortController();
    get<JobView>('job', { i, fn, id }, leaving.signal).then(
      (read) => (job.value ??= read),
      // The stream tells what is wrong.
      () => undefined,
    );
    return () => leaving.abort();
  }, [i, fn, id]);
  useLive([{ job: id, i, fn }], {
    job: (event) => {
      if (event.i !== i || event.fn !== fn || event.id !== id) return;
      noteRead(i);
      refused.value = event.refused;
      if (event.refused !== undefined) return;
      // What is gone is still shown, and said to be gone.
      isGone.value = event.job === null && !!job.value;
      if (!isGone.value) job.value = event.job;
    },
    trouble: noteTrouble,
  });
  const one = job.value;
  return (
    <>
      <div class="heading">
        <h1>
          <a class="name" href={href('fn', { i, fn })}>
            <Name of={fn} />
          </a>{' '}
          {id}
        </h1>
        {one && <StateBadge state={one.state} waitsFor={one.waitsFor} />}
        <Search fn={fn} />
      </div>
      {isGone.value && <Notice isError>This job is no longer kept. This is what it was.</Notice>}
      {one === undefined && (refusal.value ?? refused.value) === undefined && !troubles.value.has(i) && (
        <p class="dim loading">Loading…</p>
      )}
      {refused.value !== undefined && <Notice isError>{refused.value}</Notice>}
      {one === null && (
        <Notice>
          There is no such job: it never existed, or it has ended and is no longer kept.{' '}
          <a href={href('jobs', { i, fn })}>Jobs of {fn}</a>
        </Notice>
      )}
      {one && <Whole job={one} isGone={isGone.value} key={`${fn} ${id}`} />}
    </>
  );
}

function Whole({ job, isGone }: { job: JobView; isGone: boolean }) {
  const { progress, error, headers, errors, times } = job;
  const names = Object.entries(headers);
  return (
    <>
      {!isGone && <JobActions job={job} />}
      {progress && times.finished === undefined && (
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
      <Flow job={job} />
      {job.steps && job.steps.length > 0 && (
        <Section title="Steps">
          <ol class="plain">
            {job.steps.map(({ name, started, finished, bytes: size }) => (
              <li key={name} class="row">
                <code>{name}</code>
                <span>
                  ended <Exactly at={finished} /> after {span(Date.parse(finished) - Date.parse(started))},{' '}
                  {many(size, 'byte')}
                </span>
              </li>
            ))}
          </ol>
        </Section>
      )}
      <Payload job={job} part="input" />
      <Stream job={job} kind="output" />
      <Payload job={job} part="output" />
      <Stream job={job} kind="log" />
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

function Facts({ job }: { job: JobView }) {
  const { times, worker, waitsFor, waitsForJobs, attempts, stalls, snoozes, key, tags, recurring, fn } = job;
  const i = instanceName.value;
  return (
    <dl class="facts">
      <Fact name="Created">
        <Exactly at={times.created} />
      </Fact>
      {times.scheduled !== undefined && waitsFor === undefined && (
        <Fact name="Due">
          <Exactly at={times.scheduled} />
        </Fact>
      )}
      {times.expires !== undefined && (
        <Fact name="Expires">
          <Exactly at={times.expires} />
        </Fact>
      )}
      {waitsFor !== undefined && (
        <Fact name="Waits for">
          {waitsFor.length > 1 ? 'the first of the signals ' : 'the signal '}
          {waitsFor.map((name, at) => (
            <>
              {at > 0 && ', '}
              <code>{name}</code>
            </>
          ))}
          {times.waitsUntil !== undefined && (
            <>
              {' '}
              until <Exactly at={times.waitsUntil} />
            </>
          )}
        </Fact>
      )}
      {waitsForJobs !== undefined && <Fact name="Waits for">{many(waitsForJobs, 'job')}</Fact>}
      <Fact name="Attempts">
        {count(attempts)}
        {stalls > 0 && `, lost its worker ${many(stalls, 'time')}`}
        {snoozes > 0 && `, postponed ${many(snoozes, 'time')}`}
      </Fact>
      {worker !== undefined && (
        <Fact name="Worker">
          <a href={href('workers', { i, fn })}>
            <code>{worker.slice(0, 8)}</code>
          </a>
        </Fact>
      )}
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

function Section({ title, children }: { title: string; children: ComponentChildren }) {
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
