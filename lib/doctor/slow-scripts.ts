import * as limitScripts from '../gearmonkey/wire/limit-scripts.js';
import * as scheduleScripts from '../gearmonkey/wire/schedule-scripts.js';
import * as scripts from '../gearmonkey/wire/scripts.js';
import type { Examination } from './examination.js';
import type { Finding } from './finding.js';

const MOST_ENTRIES = 128;
const RECENT_SECONDS = 3_600;

const NAMES = new Map(
  Object.entries<unknown>({ ...scripts, ...limitScripts, ...scheduleScripts }).flatMap(([name, script]) =>
    typeof script === 'object' && script !== null && 'sha' in script ? [[String(script.sha), name]] : [],
  ) as [string, string][],
);

/** Scripts of this package in the server's slow log, of the last hour and slower than `least` milliseconds. */
export async function checkSlowScripts(examination: Examination, least: number): Promise<Finding[]> {
  const { redis } = examination;
  const reply = await examination.look('SLOWLOG', () => redis.slowlog('GET', MOST_ENTRIES));
  const time = await examination.look('TIME', () => redis.time());
  const now = Number(time?.[0] ?? Date.now() / 1000);
  const slow = entriesOf(reply).filter(({ at, ms }) => ms >= least && at > now - RECENT_SECONDS);
  if (slow.length === 0) return [];
  const longest = Math.max(...slow.map(({ ms }) => ms));
  const names = [...new Set(slow.map(({ name }) => name))].sort();
  return [
    {
      code: 'SLOW_SCRIPTS',
      severity: 'warning',
      title: `${slow.length} calls of the scripts ${names.join(', ')} took up to ${Math.round(longest)} ms in the last hour.`,
      remedy:
        'Look for a busy machine, swapping, slow disks with appendfsync always, or very large inputs and lists. ' +
        'SLOWLOG RESET forgets these calls.',
    },
  ];
}

interface Entry {
  readonly name: string;
  /** Seconds since 1970. */
  readonly at: number;
  readonly ms: number;
}

function entriesOf(reply: unknown): Entry[] {
  if (!Array.isArray(reply)) return [];
  return reply.flatMap((entry: unknown): Entry[] => {
    if (!Array.isArray(entry)) return [];
    const [, at, micros, args] = entry as unknown[];
    const sha = Array.isArray(args) ? String(args[1]) : '';
    const name = NAMES.get(sha);
    return name === undefined ? [] : [{ name, at: Number(at), ms: Number(micros) / 1000 }];
  });
}
