import { now } from '../clock.js';
import { clockTime, span } from '../format.js';
import { troubles } from '../functions.js';
import { liveness, lostAt, refusal } from '../live/live.js';
import { instance, instanceName } from '../session.js';
import { Notice } from './notice.js';

const SERVERS: Readonly<Record<string, string>> = { jq: 'The JQ master', jobd: 'The database' };

/** Why what is shown may be old, in the words of those who operate the app; undefined while it is current. */
function outage(): { why: string; detail?: string; since: number | undefined } | undefined {
  if (liveness.value === 'connecting' && lostAt.value !== undefined)
    return { why: 'The app does not answer.', since: lostAt.value };
  const trouble = liveness.value === 'idle' ? undefined : troubles.value.get(instanceName.value);
  if (!trouble) return undefined;
  const { code, message, since } = trouble;
  if (code !== 'CONNECTION') return { why: message, since };
  const server = SERVERS[instance.value?.system ?? ''] ?? 'Redis';
  return { why: `${server} does not answer.`, detail: message, since };
}

/** In the header: whether what is shown moves by itself, or how old it is. */
export function LiveBadge() {
  const { value } = liveness;
  if (value === 'idle') return null;
  const trouble = value === 'paused' ? undefined : outage();
  if (!trouble)
    return (
      <span class={`live is-${value}`} title="Whether what is shown moves by itself">
        {value}
      </span>
    );
  const { why, since } = trouble;
  return (
    <span class="live is-stale" title={why}>
      {since === undefined ? 'not live' : `not live, ${span(Math.max(0, now.value - since))} old`}
    </span>
  );
}

/** Above a view: what is wrong with the stream. */
export function StreamNotice() {
  if (refusal.value !== undefined) return <Notice isError>{refusal.value}</Notice>;
  const trouble = outage();
  if (!trouble) return null;
  const { why, detail, since } = trouble;
  return (
    <Notice isError>
      {why} {since !== undefined && <>What is shown is from {clockTime(since)}. </>}
      The page asks again every few seconds and goes on by itself.
      {detail !== undefined && <span class="dim"> {detail}</span>}
    </Notice>
  );
}
