import { printable } from '../../job/printable.js';

const SEPARATOR = ' | ';

/** Cells may have several lines. Columns are as wide as their widest line, the last one too. */
export function renderTable(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = rows.flatMap(linesOf);
  const header = columns.map((name) => name.toUpperCase());
  const widths = header.map((name, column) =>
    Math.max(widthOf(name), ...lines.map((line) => widthOf(line[column] ?? ''))),
  );
  const render = (cells: readonly string[]) =>
    widths.map((width, column) => padded(cells[column] ?? '', width)).join(SEPARATOR);
  const rule = widths.map((width) => '-'.repeat(width));
  return [header, rule, ...lines].map(render).join('\n');
}

/** A row as lines of cells. Cells come from other programs and go to a terminal, so control characters are removed. */
function linesOf(row: readonly string[]): string[][] {
  const cells = row.map((cell) => cell.split('\n').map(printable));
  const height = Math.max(...cells.map((lines) => lines.length));
  return Array.from({ length: height }, (_, line) => cells.map((lines) => lines[line] ?? ''));
}

function widthOf(text: string): number {
  return [...text].length;
}

function padded(text: string, width: number): string {
  return text + ' '.repeat(width - widthOf(text));
}
