import { printable } from '../../job/printable.js';
import { renderTable } from '../../jobd/jobctl/table.js';

const CUT = '…';

/** A line for each row, whatever is in its cells. Lines that are longer than `width` are cut. */
export function tableLines(
  columns: readonly string[],
  rows: readonly (readonly string[])[],
  width = Infinity,
): string[] {
  const lines = renderTable(
    columns,
    rows.map((row) => row.map(printable)),
  ).split('\n');
  return lines.map((line) => cutTo(line.trimEnd(), width));
}

function cutTo(line: string, width: number): string {
  const chars = [...line];
  return chars.length > width ? chars.slice(0, Math.max(0, width - 1)).join('') + CUT : line;
}
