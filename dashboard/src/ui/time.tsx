import { now } from '../clock.js';
import { exact, relative, span } from '../format.js';

/** Relative to now; the exact time on hover, on focus and for screen readers. */
export function When({ at }: { at: string | undefined }) {
  if (at === undefined) return <span class="dim">–</span>;
  const time = new Date(at).getTime();
  if (Number.isNaN(time)) return <span>{at}</span>;
  return (
    <time dateTime={at} title={exact(time)} class="nowrap">
      {relative(time, now.value)}
    </time>
  );
}

/** How long it has been: the exact time on hover. */
export function Age({ of }: { of: string | undefined }) {
  if (of === undefined) return <span class="dim">–</span>;
  const time = new Date(of).getTime();
  return (
    <time dateTime={of} title={exact(time)} class="nowrap">
      {span(Math.max(0, now.value - time))}
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
