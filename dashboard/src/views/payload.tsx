import { useSignal } from '@preact/signals';
import { apiUrl, ApiFailure, get, type JobView, type PayloadView } from '../api.js';
import { bytes, count } from '../format.js';
import { instanceName } from '../session.js';
import { Notice } from '../ui/notice.js';

/** Larger ones are read when somebody asks for them. */
const READ_AT_ONCE = 4096;

/** Input or output: read apart from the job, at most 64 KiB of it, and shown as text only. */
export function Payload({ job, part }: { job: JobView; part: 'input' | 'output' }) {
  const size = job[part]?.bytes;
  const title = part === 'input' ? 'Input' : 'Output';
  if (size === undefined) return null;
  return (
    <section>
      <h2>
        {title} <span class="dim">{bytes(size)}</span>
      </h2>
      <Body key={`${job.fn} ${job.id} ${size}`} job={job} part={part} size={size} />
    </section>
  );
}

function Body({ job: { fn, id }, part, size }: { job: JobView; part: 'input' | 'output'; size: number }) {
  const payload = useSignal<PayloadView | ApiFailure | undefined>(undefined);
  const query = { i: instanceName.value, fn, id, part };
  const read = async () => {
    payload.value = await get<PayloadView>('payload', query).catch((error: unknown) =>
      error instanceof ApiFailure ? error : new ApiFailure(0, 'ERROR', String(error)),
    );
  };
  const shown = payload.value;
  if (shown === undefined) {
    if (size <= READ_AT_ONCE) void read();
    return size <= READ_AT_ONCE ? (
      <p class="dim loading">Loading…</p>
    ) : (
      <button type="button" onClick={() => void read()}>
        Show
      </button>
    );
  }
  if (shown instanceof ApiFailure) return <Notice isError>{shown.message}</Notice>;
  return (
    <>
      <pre tabIndex={0} class="payload">
        {shown.cut ? shown.text : readable(shown)}
      </pre>
      <p class="dim">
        {shown.cut && `The first ${count(shown.text.length)} characters of ${bytes(shown.bytes)}. `}
        {shown.encoding === 'base64' && 'It is no text: shown as base64. '}
        {shown.redacted && 'The app hides parts of it. '}
        <a href={apiUrl('raw', query)} download>
          Download
        </a>
      </p>
    </>
  );
}

/** JSON is indented; anything else is as it is. */
function readable({ text, encoding }: PayloadView): string {
  if (encoding !== 'utf8') return text;
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2);
  } catch {
    return text;
  }
}
