import { spanText } from '../job/span-text.js';
import type { Schedule } from '../gearmonkey/features/schedules/schedule.js';

const LONGEST = 200;
const DAYS = ['Sundays', 'Mondays', 'Tuesdays', 'Wednesdays', 'Thursdays', 'Fridays', 'Saturdays', 'Sundays'];

/** A schedule's times in words, such as `weekdays at 9:00, Europe/Berlin`. Rare patterns are shown as they are. */
export function scheduleWords({ cron, every, seconds, timezone }: Schedule): string {
  const words = cron === undefined ? everyWords(every) : cronWords(cron.slice(0, LONGEST), seconds);
  const zone = timezone === undefined ? '' : `, ${timezone}`;
  return `${words}${zone}`.slice(0, LONGEST);
}

function everyWords(every: number | undefined): string {
  return every === undefined ? 'never' : `every ${spanText(every)}`;
}

/** What cron has names for. */
const NAMED: Readonly<Record<string, string>> = {
  '@yearly': 'yearly on January 1 at 0:00',
  '@annually': 'yearly on January 1 at 0:00',
  '@monthly': 'monthly on day 1 at 0:00',
  '@weekly': 'Sundays at 0:00',
  '@daily': 'daily at 0:00',
  '@midnight': 'daily at 0:00',
  '@hourly': 'every hour at :00',
};

function cronWords(cron: string, seconds: boolean): string {
  const named = NAMED[cron.trim().toLowerCase()];
  if (named !== undefined) return named;
  const fields = cron.trim().split(/\s+/, 7);
  if (fields.length !== (seconds ? 6 : 5) || (seconds && fields[0] !== '0')) return `cron ${cron}`;
  const [minute = '', hour = '', day = '', month = '', weekday = ''] = seconds ? fields.slice(1) : fields;
  const known = month === '*';
  const time = known ? timeWords(minute, hour) : undefined;
  const days = known ? dayWords(day, weekday) : undefined;
  if (time === undefined || days === undefined) return `cron ${cron}`;
  return days === 'daily' && time.startsWith('every') ? time : `${days} ${time}`;
}

function timeWords(minute: string, hour: string): string | undefined {
  const steps = stepOf(minute, 60);
  if (hour === '*' && minute === '*') return 'every minute';
  if (hour === '*' && steps !== undefined) return `every ${steps} minutes`;
  if (!/^\d{1,2}$/.test(minute)) return undefined;
  const past = minute.padStart(2, '0');
  if (hour === '*') return `every hour at :${past}`;
  const hours = stepOf(hour, 24);
  if (hours !== undefined) return `every ${hours} hours at :${past}`;
  if (!/^\d{1,2}(?:,\d{1,2}){0,5}$/.test(hour)) return undefined;
  const times = hour.split(',').map((each) => `${Number(each)}:${past}`);
  return `at ${times.join(' and ')}`;
}

/** The step of a field that divides its whole: of others the last one is shorter. */
function stepOf(field: string, whole: number): number | undefined {
  const step = Number(/^\*\/(\d{1,2})$/.exec(field)?.[1]);
  return step > 1 && whole % step === 0 ? step : undefined;
}

/** The days; undefined for a rare pattern. */
function dayWords(day: string, weekday: string): string | undefined {
  if (day === '*' && (weekday === '1-5' || /^mon-fri$/i.test(weekday))) return 'weekdays';
  if (day === '*' && /^[0-7](?:,[0-7]){0,6}$/.test(weekday))
    return weekday
      .split(',')
      .map((each) => DAYS[Number(each)])
      .join(' and ');
  if (weekday !== '*') return undefined;
  if (day === '*') return 'daily';
  return /^\d{1,2}$/.test(day) ? `monthly on day ${Number(day)}` : undefined;
}
