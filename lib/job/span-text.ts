const UNITS = [
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1000],
] as const;

/** Formats milliseconds for a log line: `250 ms`, `1.5 s`, `10 min`. */
export function spanText(ms: number): string {
  const [unit, size] = UNITS.find(([, length]) => ms >= length) ?? ['ms', 1];
  return `${Number((ms / size).toFixed(unit === 'ms' ? 0 : 1))} ${unit}`;
}
