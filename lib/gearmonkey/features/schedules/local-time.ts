/** A time as a clock on the wall shows it. */
export interface LocalTime {
  /** The shown time, as if it were that of UTC, in milliseconds since 1970. */
  readonly wall: number;
  /** How far the clock is ahead of UTC, such as `+02:00`. */
  readonly offset: string;
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** @throws RangeError for a time zone that does not exist */
export function localTimeOf(time: number, timezone: string): LocalTime {
  const parts: Partial<Record<Intl.DateTimeFormatPartTypes, number>> = {};
  for (const { type, value } of formatOf(timezone).formatToParts(time)) parts[type] = Number(value);
  const { year = 0, month = 1, day, hour, minute, second } = parts;
  const wall = Date.UTC(year, month - 1, day, hour, minute, second);
  return { wall, offset: offsetText(wall - Math.floor(time / 1000) * 1000) };
}

function formatOf(timezone: string): Intl.DateTimeFormat {
  let format = formats.get(timezone);
  if (!format) {
    const two = '2-digit';
    format = new Intl.DateTimeFormat('en-US', {
      ...{ timeZone: timezone, calendar: 'gregory', hourCycle: 'h23', year: 'numeric' },
      ...{ month: two, day: two, hour: two, minute: two, second: two },
    });
    formats.set(timezone, format);
  }
  return format;
}

function offsetText(ms: number): string {
  const minutes = Math.round(Math.abs(ms) / 60_000);
  const two = (value: number) => String(value).padStart(2, '0');
  return `${ms < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}
