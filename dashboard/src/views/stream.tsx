import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { get, type JobView, type StreamView } from '../api.js';
import { count, many } from '../format.js';
import { instanceName } from '../session.js';
import { Notice } from '../ui/notice.js';
import { Exactly } from '../ui/time.js';

/** Older entries are left out: a page of very many would be slow. */
const MOST_SHOWN = 1000;

type Entry = StreamView['entries'][number];

/** What a job streams, as it goes on: read from where the page stands, whenever there is more. */
export function Stream({ job, kind }: { job: JobView; kind: 'output' | 'log' }) {
  const total = job.streams?.[kind];
  if (total === undefined) return null;
  const [title, what] = kind === 'log' ? ['Log', 'line'] : ['Streamed output', 'chunk'];
  return (
    <section>
      <h2>
        {title} <span class="dim">{many(total, what)}</span>
      </h2>
      <Entries key={`${job.fn} ${job.id}`} job={job} kind={kind} title={title} total={total} />
    </section>
  );
}

function Entries({
  job: { fn, id },
  kind,
  title,
  total,
}: {
  job: JobView;
  kind: 'output' | 'log';
  title: string;
  total: number;
}) {
  const state = useSignal<{ entries: readonly Entry[]; next: number; left: number }>({
    ...{ entries: [], next: 0, left: 0 },
  });
  const trouble = useSignal<string | undefined>(undefined);
  const i = instanceName.value;
  useEffect(() => {
    const leaving = new AbortController();
    void readOn(leaving.signal).catch((error: unknown) => {
      if (!leaving.signal.aborted) trouble.value = error instanceof Error ? error.message : String(error);
    });
    return () => leaving.abort();
  }, [total]);

  async function readOn(signal: AbortSignal): Promise<void> {
    for (;;) {
      const from = state.value.next;
      const page = await get<StreamView>('stream', { i, fn, id, kind, from: String(from) }, signal);
      if (signal.aborted || page.next === from) return;
      const all = [...state.value.entries, ...page.entries];
      const entries = all.slice(-MOST_SHOWN);
      state.value = { entries, next: page.next, left: page.total - entries.length };
      if (page.next >= page.total) return;
    }
  }

  const { entries, left } = state.value;
  if (trouble.value !== undefined) return <Notice isError>{trouble.value}</Notice>;
  return (
    <>
      {left > 0 && <p class="dim">{count(left)} older ones are not shown.</p>}
      {kind === 'output' ? (
        <pre tabIndex={0} aria-label={title} class="payload">
          {entries.map(({ text }) => chunkText(text)).join('')}
        </pre>
      ) : (
        <ol tabIndex={0} aria-label={title} class="plain log">
          {entries.map(({ at, text }, index) => (
            <li key={left + index} class="row">
              <Exactly at={at} />
              <code>{text}</code>
            </li>
          ))}
        </ol>
      )}
    </>
  );
}

/** Texts run on, as tokens do; other values have a line each. */
function chunkText(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'string' ? value : `${text}\n`;
  } catch {
    return text;
  }
}
