const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'];

/** `1.2 MB`, in steps of 1000. */
export function formatBytes(bytes: number): string {
  let unit = 0;
  let value = bytes;
  for (; value >= 999.5 && unit < UNITS.length - 1; unit++) value /= 1000;
  return `${unit === 0 ? Math.round(value) : value.toPrecision(3)} ${UNITS[unit]}`;
}

/** `2,000` */
export function formatCount(count: number): string {
  return count.toLocaleString('en-US');
}

const PATH_COLUMNS = 48;

/** Shortens a path at its beginning, since the end says more. */
export function shorten(path: string): string {
  return path.length <= PATH_COLUMNS ? path : `…${path.slice(1 - PATH_COLUMNS)}`;
}

/** Aligns columns: the first left, the others right. */
export function formatTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [header, ...rows];
  const widths = header.map((_, column) => Math.max(...lines.map((line) => (line[column] ?? '').length)));
  return lines
    .map((line) =>
      line
        .map((cell, column) =>
          column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
        )
        .join('  '),
    )
    .map((line) => `  ${line.trimEnd()}`)
    .join('\n');
}
