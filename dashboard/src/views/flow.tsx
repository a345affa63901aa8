import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { get, type FlowView, type JobView } from '../api.js';
import { jobsOf, type FlowJob } from '../flow-jobs.js';
import { count, many } from '../format.js';
import { useLoad } from '../load.js';
import { instanceName } from '../session.js';
import { Notice, Read } from '../ui/notice.js';

/** How many jobs are read at once, and at most: a drawing of very many would be slow. */
const [STEP, MOST_SHOWN] = [300, 900];

/** It stays open when a link of the drawing leads to another job. */
const isOpen = signal(false);

/** The jobs that a job waits for, and that wait for it: read and drawn when it is opened. */
export function Flow({ job }: { job: JobView }) {
  if (!job.flow) return null;
  return (
    <section>
      <details
        class="flow"
        open={isOpen.value}
        onToggle={({ currentTarget }) => (isOpen.value = currentTarget.open)}
      >
        <summary>
          <h2>Flow</h2>
        </summary>
        {isOpen.value && <Opened key={`${job.fn} ${job.id}`} job={job} />}
      </details>
    </section>
  );
}

function Opened({ job: { fn, id, state } }: { job: JobView }) {
  const i = instanceName.value;
  const upTo = useRef(STEP);
  const lastState = useRef(state);
  const flow = useLoad(JSON.stringify([i, fn, id]), (signal) =>
    readFlow({ i, fn, id }, upTo.current, signal),
  );
  const drawing = useLoad('drawing', () => import('./flow-drawing.js'));
  useEffect(() => {
    if (lastState.current !== state) flow.reload();
    lastState.current = state;
  }, [state]);
  const more = () => {
    upTo.current += STEP;
    flow.reload();
  };
  return (
    <Read from={flow}>
      {(read) => (
        <>
          <Summary read={read} more={more} reload={flow.reload} />
          {read.jobs.length === 0 && <Notice>There is no job that can be shown.</Notice>}
          <Read from={drawing}>
            {({ FlowDrawing }) => read.jobs.length > 0 && <FlowDrawing jobs={read.jobs} shown={{ fn, id }} />}
          </Read>
        </>
      )}
    </Read>
  );
}

/** All pages that were asked for, as one. */
interface ReadFlow extends FlowView {
  readonly jobs: readonly FlowJob[];
}

interface SummaryProps {
  readonly read: ReadFlow;
  readonly more: () => void;
  readonly reload: () => void;
}

function Summary({ read: { done, failed, total, jobs, hidden, next }, more, reload }: SummaryProps) {
  return (
    <p class="row">
      <progress max={total} value={done + failed} aria-label="Jobs of the flow that have ended" />
      <span>
        {count(done + failed)} of {many(total, 'job')} ended
        {failed > 0 && `, ${count(failed)} of them without success`}
      </span>
      {jobs.length < total && (
        <span class="dim">
          {count(jobs.length)} of {many(total, 'job')} shown
          {hidden > 0 && `, ${count(hidden)} left out: you may not see their functions`}
        </span>
      )}
      {next !== undefined && next < MOST_SHOWN && (
        <button type="button" class="link" onClick={more}>
          Show more
        </button>
      )}
      <button type="button" class="link" onClick={reload}>
        Refresh
      </button>
    </p>
  );
}

/** Reads page after page, so that what is drawn is of about one time. */
async function readFlow(
  query: Readonly<Record<'i' | 'fn' | 'id', string>>,
  upTo: number,
  signal: AbortSignal,
): Promise<ReadFlow> {
  const jobs: FlowJob[] = [];
  let hidden = 0;
  for (let from = 0; ;) {
    const page = await get<FlowView>('flow', { ...query, from: String(from) }, signal);
    jobs.push(...jobsOf(page));
    hidden += page.hidden;
    if (page.next === undefined || page.next >= upTo) return { ...page, jobs, hidden };
    from = page.next;
  }
}
