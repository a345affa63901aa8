import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

interface Props<T> {
  readonly label: string;
  readonly head: ComponentChildren;
  readonly columns: number;
  readonly rows: readonly T[];
  /** How many there are in all, with those that are not read yet. */
  readonly total: number;
  readonly row: (one: T, index: number) => ComponentChildren;
  /** Called when the end of what was read comes into sight. */
  readonly onEnd?: (() => void) | undefined;
}

/** The height of a row, as the style sheet has it. */
const ROW = 40;
/** So many rows more than are seen, above and below. */
const MORE = 12;

/** A table of any length, of which only what is seen is in the document. */
export function VirtualList<T>({ label, head, columns, rows, total, row, onEnd }: Props<T>) {
  const box = useRef<HTMLDivElement>(null);
  const [seen, setSeen] = useState({ top: 0, height: 800 });
  useEffect(() => {
    const own = box.current;
    if (!own) return undefined;
    let frame = 0;
    const look = () => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(() => setSeen({ top: own.scrollTop, height: own.clientHeight }));
    };
    look();
    own.addEventListener('scroll', look, { passive: true });
    const resized = new ResizeObserver(look);
    resized.observe(own);
    return () => {
      own.removeEventListener('scroll', look);
      resized.disconnect();
      cancelAnimationFrame(frame);
    };
  }, []);
  const first = Math.max(0, Math.floor(seen.top / ROW) - MORE);
  const last = Math.min(rows.length, Math.ceil((seen.top + seen.height) / ROW) + MORE);
  useEffect(() => {
    if (last >= rows.length && onEnd) onEnd();
  }, [last, rows.length]);
  return (
    <div class="virtual" ref={box} tabIndex={0} role="region" aria-label={label}>
      <table aria-rowcount={total + 1}>
        <thead>{head}</thead>
        <tbody>
          {first > 0 && <Gap columns={columns} rows={first} />}
          {rows.slice(first, last).map((one, index) => row(one, first + index))}
          {last < rows.length && <Gap columns={columns} rows={rows.length - last} />}
        </tbody>
      </table>
    </div>
  );
}

function Gap({ columns, rows }: { columns: number; rows: number }) {
  return (
    <tr aria-hidden="true" class="gap">
      <td colSpan={columns} style={{ height: `${rows * ROW}px` }} />
    </tr>
  );
}
