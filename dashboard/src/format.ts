const whole = new Intl.NumberFormat('en');
const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
/** In the way of the browser's user, with the name of the zone. */
const dateAndTime = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'long' });
const time = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });
const minute = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' });
const day = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' });

/** Of the browser, such as `Europe/Berlin`. */
export const ZONE = dateAndTime.resolvedOptions().timeZone;

/** 12345 as `12,345`. */
export function count(number: number): string {
  return whole.format(number);
}

/** 12345 as `12.3K`. */
export function short(number: number): string {
  return number < 10_000 ? whole.format(number) : compact.format(number);
}

/** `1 job`, `2 jobs`. */
export function many(number: number, what: string): string {
  return `${count(number)} ${what}${number === 1 ? '' : 's'}`;
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1000],
] as const;

/** Milliseconds as the largest unit that fits, such as `4 min`. */
export function span(ms: number): string {
  const [unit, size] = UNITS.find(([, least]) => ms >= least) ?? ['ms', 1];
  const value = ms / size;
  return `${value < 10 && unit !== 'ms' ? Number(value.toFixed(1)) : Math.round(value)} ${unit}`;
}

/** `4 min ago`, `in 3 h`, or `now`. */
export function relative(time: number, now: number): string {
  const ms = time - now;
  if (Math.abs(ms) < 1000) return 'now';
  return ms > 0 ? `in ${span(ms)}` : `${span(-ms)} ago`;
}

export function exact(time: number): string {
  return dateAndTime.format(time);
}

/** Of today, to the second. */
export function clockTime(at: number): string {
  return time.format(at);
}

/** For the axis of a chart: the minute, and where a day begins the day. */
export function axisTimes(times: readonly number[]): string[] {
  const dayOf = (at: number | undefined) => (at === undefined ? undefined : day.format(at));
  return times.map((at, index) =>
    dayOf(at) === dayOf(times[index - 1]) ? minute.format(at) : `${minute.format(at)}\n${day.format(at)}`,
  );
}

export function bytes(number: number): string {
  if (number < 1024) return `${number} B`;
  const units = ['kB', 'MB', 'GB'];
  let value = number / 1024;
  while (value >= 1024 && units.length > 1) {
    value /= 1024;
    units.shift();
  }
  return `${Number(value.toFixed(1))} ${units[0]}`;
}
