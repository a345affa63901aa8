import { defined } from '../../job/defined.js';
import { MalformedScheduleError } from '../../job/schedule-errors.js';
import type { StoredFields } from '../wire/schedule-scripts.js';
import { malformed } from './check-stored.js';
import type { Spec, StoredSchedule } from './spec.js';
import { LAST_TIME } from './timing.js';

/** Reads a schedule. @throws MalformedScheduleError if another program has written something else in its place */
export function parseSchedule(stored: StoredFields): StoredSchedule {
  const { id, version, slot, time, previous, made, job } = stored;
  const next = numberOf(time);
  if (time !== '' && next === undefined) throw new MalformedScheduleError(id, 'its next time is no time');
  return defined({
    id,
    spec: parse(stored),
    version,
    slot: next === undefined ? undefined : { time: next, label: slot },
    previous: numberOf(previous),
    made: Math.max(0, numberOf(made) ?? 0),
    job: /^\d+/.exec(job)?.[0],
  });
}

/** As `parseSchedule`; undefined if it is malformed. */
export function readSchedule(stored: StoredFields): StoredSchedule | undefined {
  try {
    return parseSchedule(stored);
  } catch {
    return undefined;
  }
}

function parse({ id, spec }: StoredFields): Spec {
  const parsed = jsonOf(spec);
  const problem = malformed(parsed);
  if (problem !== undefined) throw new MalformedScheduleError(id, problem);
  return parsed as Spec;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A number that a time can be; undefined for other text. */
function numberOf(text: string): number | undefined {
  const value = Number(text);
  return text !== '' && Math.abs(value) <= LAST_TIME ? value : undefined;
}
