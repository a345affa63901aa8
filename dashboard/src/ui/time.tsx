import { now } from '../clock.js';
import { exact, relative } from '../format.js';

/** Relative to now; the exact time on hover, on focus and for screen readers. */
export function When({ at }: { at: string | undefined }) {
  if (at === undefined) return <span class="dim">–</span>;
  const time = new Date(at).getTime();
  if (Number.isNaN(time)) return <span>{at}</span>;
  return (
    <time dateTime={at} title={exact(time)}>
      {relative(time, now.value)}
    </time>
  );
}

/** The exact time, with the relative one beside it. */
export function Exactly({ at }: { at: string | undefined }) {
  if (at === undefined) return <span class="dim">–</span>;
  const time = new Date(at).getTime();
  return (
    <>
      <time dateTime={at}>{exact(time)}</time> <span class="dim">{relative(time, now.value)}</span>
    </>
  );
}
