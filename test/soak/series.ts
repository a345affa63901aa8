/** One quantity, sampled at even intervals. */
export interface Series {
  readonly name: string;
  readonly unit: string;
  readonly values: number[];
}

/** How much more the end may show than the beginning: a part of it, and on top of that an amount in the series' unit. */
export interface Bound {
  readonly part: number;
  readonly amount: number;
}

export interface Verdict {
  readonly name: string;
  readonly unit: string;
  readonly beginning: number;
  readonly end: number;
  readonly highest: number;
  readonly most: number;
  readonly holds: boolean;
}

/** What fills up at first (caches, keys that live for seconds, the heap's generations) is not looked at. */
const WARM_UP_PART = 0.4;

/** Compares the medians of two halves, once warm. */
export function judge({ name, unit, values }: Series, { part, amount }: Bound): Verdict {
  const warm = values.slice(Math.floor(values.length * WARM_UP_PART));
  const middle = Math.floor(warm.length / 2);
  const beginning = median(warm.slice(0, middle));
  const end = median(warm.slice(middle));
  const most = beginning * (1 + part) + amount;
  return { name, unit, beginning, end, highest: Math.max(...warm), most, holds: end <= most };
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

export function table(verdicts: readonly Verdict[]): string {
  const rows = [
    ['', 'first half', 'second half', 'highest', 'bound', ''],
    ...verdicts.map(({ name, unit, beginning, end, highest, most, holds }) => [
      `${name}${unit === '' ? '' : `, ${unit}`}`,
      ...[beginning, end, highest, most].map((value) => value.toFixed(unit === 'MB' ? 1 : 0)),
      holds ? 'holds' : 'GROWS',
    ]),
  ];
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) =>
      row
        .map((cell, column) =>
          column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0),
        )
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
