import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { isFinal, JOB_STATES, type JobState } from '../../../lib/job/job-state.js';
import { useAfterBulks } from '../actions.js';
import { get, type ApiFailure, type JobsView, type ListedJobView, type Rights } from '../api.js';
import { count, many } from '../format.js';
import { useLoad } from '../load.js';
import { href, route } from '../route.js';
import { instanceName } from '../session.js';
import { ActButton } from '../ui/act-button.js';
import { Name } from '../ui/name.js';
import { Notice } from '../ui/notice.js';
import { StateBadge } from '../ui/state.js';
import { When } from '../ui/time.js';
import { VirtualList } from '../ui/virtual-list.js';
import { Search } from './search.js';

const SIZE = '100';

/** What the address asks for: a state, or a search by id, tag or key. */
function askedOf(query: Readonly<Record<string, string>>) {
  const { fn = '', state = 'waiting', order = 'newest', tag, key, id } = query;
  const isSearch = [tag, key, id].some((one) => one !== undefined);
  return { fn, state: state as JobState, order, isSearch, search: { tag, key, id } };
}

/** The jobs of a function: by state, or found by tag, key or id. Read page by page as somebody scrolls. */
export function Jobs() {
  const { query } = route.value;
  const i = instanceName.value;
  const { fn, state, order, isSearch } = askedOf(query);
  const rights = useLoad(JSON.stringify([i, fn]), (signal) => get<Rights>('rights', { i, fn }, signal));
  return (
    <>
      <div class="heading">
        <h1>
          <a class="name" href={href('fn', { i, fn })}>
            <Name of={fn} />
          </a>
        </h1>
        <Search fn={fn} />
      </div>
      <nav class="choices" aria-label="State">
        {JOB_STATES.map((one) => (
          <a
            key={one}
            href={href('jobs', { i, fn, state: one })}
            aria-current={!isSearch && one === state ? 'page' : undefined}
          >
            {one}
          </a>
        ))}
      </nav>
      {!isSearch && (
        <p>
          <a
            class="button"
            href={href('jobs', { i, fn, state, order: order === 'newest' ? 'oldest' : 'newest' })}
          >
            {order === 'newest' ? 'Show the oldest first' : 'Show the newest first'}
          </a>
        </p>
      )}
      <List key={JSON.stringify([i, query])} actions={rights.data?.actions ?? []} />
    </>
  );
}

interface Chosen {
  readonly fn: string;
  readonly state: JobState;
  readonly tag?: string;
  readonly actions: Rights['actions'];
}

function BulkActions({ fn, state, tag, actions }: Chosen) {
  const isEnded = state === 'failed' || state === 'cancelled';
  const which = { state, ...(tag !== undefined && { tag }) };
  const whose = tag === undefined ? `of ${fn}` : `of ${fn} with the tag ${tag}`;
  if (state === 'succeeded') return null;
  if (!isEnded)
    return actions.includes('cancel') ? (
      <ActButton
        request={{ action: 'cancel', fn, which }}
        title={`Cancel all ${state} jobs of ${fn}`}
        says={
          state === 'running'
            ? 'Their handlers are told to stop; they end as cancelled.'
            : 'They end as cancelled and are not run.'
        }
        verb="Cancel them"
        label={`Cancel all ${state}`}
        isDangerous
      />
    ) : null;
  return (
    <>
      {actions.includes('retry') && (
        <ActButton
          request={{ action: 'retry', fn, which }}
          title={`Retry all ${state} jobs ${whose}`}
          says="They are put back into their queues and run again."
          verb="Retry them"
          label={`Retry all ${state}`}
        />
      )}
      {actions.includes('discard') && (
        <ActButton
          request={{ action: 'discard', fn, which }}
          title={`Discard all ${state} jobs ${whose}`}
          says="They are deleted. This can't be taken back."
          verb="Discard them"
          label={`Discard all ${state}`}
          isDangerous
        />
      )}
    </>
  );
}

function List({ actions }: { actions: Rights['actions'] }) {
  const { query } = route.value;
  const i = instanceName.value;
  const { fn, state, order, isSearch, search } = askedOf(query);
  const jobs = useSignal<readonly ListedJobView[]>([]);
  const page = useSignal<{ total: number; next?: string | undefined } | undefined>(undefined);
  const error = useSignal<ApiFailure | undefined>(undefined);
  const filter = useSignal('');
  const isReading = useRef(false);
  const more = async (from?: string) => {
    if (isReading.current) return;
    isReading.current = true;
    try {
      const asked = isSearch ? { i, fn, ...search } : { i, fn, state, order };
      const read = await get<JobsView>(isSearch ? 'find' : 'jobs', { ...asked, size: SIZE, page: from });
      // Jobs move while somebody reads: one may come twice.
      const known = new Set((from === undefined ? [] : jobs.value).map(({ id }) => id));
      const fresh = read.jobs.filter(({ id }) => !known.has(id));
      jobs.value = from === undefined ? read.jobs : [...jobs.value, ...fresh];
      page.value = { total: read.total, next: read.next };
      error.value = undefined;
    } catch (failure) {
      error.value = failure as ApiFailure;
    } finally {
      isReading.current = false;
    }
  };
  useEffect(() => void more(), []);
  useAfterBulks(i, fn, () => void more());
  const next = page.value?.next;
  const shown = jobs.value.filter((job) => hasText(job, filter.value));
  if (error.value) return <Notice isError>{error.value.message}</Notice>;
  if (!page.value) return <p class="dim loading">Loading…</p>;
  if (jobs.value.length === 0)
    return <Notice>{isSearch ? 'No job was found.' : `No job is ${state}.`}</Notice>;
  const { tag } = search;
  // Of those with a tag others may have failed that are not read yet.
  const mayHaveFailed = next !== undefined || jobs.value.some((job) => job.state === 'failed');
  return (
    <>
      <div class="row">
        {!isSearch && <BulkActions {...{ fn, state, actions }} />}
        {tag !== undefined && mayHaveFailed && <BulkActions {...{ fn, tag, actions }} state="failed" />}
      </div>
      <p class="dim">
        {count(jobs.value.length)} of {many(Math.max(page.value.total, jobs.value.length), 'job')}{' '}
        <button type="button" class="link" onClick={() => void more()}>
          Refresh
        </button>
      </p>
      <p>
        <input
          type="search"
          aria-label="Show only jobs with this text in their error, tags, key or schedule"
          placeholder="Filter"
          value={filter.value}
          onInput={({ currentTarget }) => (filter.value = currentTarget.value)}
        />{' '}
        {filter.value !== '' && (
          <span class="dim" role="status">
            {many(shown.length, 'job')} of those read
            {next !== undefined && (
              <>
                {' '}
                <button type="button" class="link" onClick={() => void more(next)}>
                  Read more
                </button>
              </>
            )}
          </span>
        )}
      </p>
      <VirtualList
        label="Jobs"
        columns={6}
        rows={shown}
        total={filter.value === '' ? page.value.total : shown.length}
        head={<Head isSearch={isSearch} state={state} />}
        row={(job, index) => <JobRow key={job.id} job={job} index={index} />}
        onEnd={next === undefined || filter.value !== '' ? undefined : () => void more(next)}
      />
      {next === undefined && jobs.value.length < page.value.total && (
        <p class="dim">The others can’t be listed: of long queues only 10,000 jobs at either end are.</p>
      )}
    </>
  );
}

function hasText({ error, tags = [], key = '', recurring }: ListedJobView, text: string): boolean {
  const texts = [error?.message ?? '', error?.name ?? '', key, recurring?.id ?? '', ...tags];
  return text === '' || texts.some((one) => one.toLowerCase().includes(text.toLowerCase()));
}

function Head({ isSearch, state }: { isSearch: boolean; state: JobState }) {
  const when = isSearch
    ? 'Last change'
    : ({ scheduled: 'Due', retrying: 'Next attempt', running: 'Since' }[state as string] ??
      (state === 'waiting' ? 'Since' : 'Ended'));
  return (
    <tr>
      <th scope="col">ID</th>
      <th scope="col">State</th>
      <th scope="col">What</th>
      <th scope="col" class="number">
        Attempts
      </th>
      <th scope="col">Created</th>
      <th scope="col">{when}</th>
    </tr>
  );
}

function JobRow({ job, index }: { job: ListedJobView; index: number }) {
  const { id, fn, state, attempts, times } = job;
  const open = href('job', { i: instanceName.value, fn, id });
  return (
    <tr aria-rowindex={index + 2}>
      <th scope="row">
        <a href={open} data-row>
          {id}
        </a>
      </th>
      <td>
        <StateBadge state={state} />
      </td>
      <td class="what">
        <div>
          <What job={job} />
        </div>
      </td>
      <td class="number">{attempts}</td>
      <td>
        <When at={times.created} />
      </td>
      <td>
        <When
          at={times.finished ?? (state === 'running' ? times.started : (times.scheduled ?? times.created))}
        />
      </td>
    </tr>
  );
}

function What({
  job: { state, error, progress, key, tags, recurring, waitsForJobs },
}: {
  job: ListedJobView;
}) {
  return (
    <>
      {progress && !isFinal(state) && (
        <progress max={progress.divisor} value={progress.dividend} aria-label="Progress" />
      )}
      {error && <span class="is-bad">{error.message}</span>}
      {waitsForJobs !== undefined && <span class="tag">waits for {many(waitsForJobs, 'job')}</span>}
      {key !== undefined && <span class="tag">key {key}</span>}
      {tags?.map((tag) => (
        <span key={tag} class="tag">
          {tag}
        </span>
      ))}
      {recurring && <span class="tag">schedule {recurring.id}</span>}
    </>
  );
}
