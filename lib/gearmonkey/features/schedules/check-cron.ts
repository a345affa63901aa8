import { messageOf } from '../../../job/error-info.js';
import { InvalidOptionError } from '../../../job/errors.js';
import { localTimeOf } from './local-time.js';
import { MAX_PATTERN, patternOf } from './timing.js';

const SIX = "'0 9 * * 1-5', of five fields; a sixth in front for seconds needs `seconds: true`";

/** @throws InvalidOptionError for a pattern that is malformed or never matches */
export function checkCron(cron: unknown, timezone: string, seconds: boolean): void {
  if (typeof cron !== 'string' || cron.length > MAX_PATTERN)
    throw new InvalidOptionError('cron', cron, `a pattern such as ${SIX}`);
  const fields = cron.trim().split(/\s+/);
  const isNickname = cron.startsWith('@') && fields.length === 1;
  if (isNickname && seconds)
    throw new InvalidOptionError('cron', cron, 'a pattern of six fields, because of `seconds: true`');
  if (!isNickname && fields.length !== (seconds ? 6 : 5)) {
    const expected = seconds ? 'of six fields, because of `seconds: true`' : `such as ${SIX}`;
    throw new InvalidOptionError('cron', cron, `a pattern ${expected}`);
  }
  if (nextMatch(cron, timezone, seconds) === null)
    throw new InvalidOptionError(
      'cron',
      cron,
      'a pattern that some day matches: this one names a day that no month has',
    );
}

function nextMatch(cron: string, timezone: string, seconds: boolean): Date | null {
  try {
    // A fixed time, so that it does not depend on the date whether a pattern is accepted.
    return patternOf({ cron, timezone, seconds }).zoned.nextRun(new Date(0));
  } catch (error) {
    const why = messageOf(error).replace(/^CronPattern: /, '');
    throw new InvalidOptionError('cron', cron, `a pattern such as ${SIX} (${why})`);
  }
}

/** Returns the time zone, by default UTC. @throws InvalidOptionError */
export function checkTimezone(timezone: unknown = 'UTC'): string {
  const isName = typeof timezone === 'string' && /^[A-Za-z][\w+/-]{0,63}$/.test(timezone);
  try {
    if (isName && localTimeOf(0, timezone)) return timezone;
  } catch {
    // Refused below.
  }
  throw new InvalidOptionError(
    'timezone',
    timezone,
    "the name of a time zone, such as 'Europe/Berlin' or 'UTC'",
  );
}
