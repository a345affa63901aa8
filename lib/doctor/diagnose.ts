import { featureRights } from '../gearmonkey/features/index.js';
import { setTimeout as pause } from 'node:timers/promises';
import type { KeysOf } from '../gearmonkey/core/wire/protocol.js';
import { type Role, callsOf } from '../gearmonkey/core/wire/rights.js';
import type { RedisConnection } from '../redis/redis-connection.js';
import {
  Examination,
  type ExaminedFunction,
  type Finding,
  type Skipped,
  confirmed,
} from '../gearmonkey/core/examination.js';
import { suspectFunction } from './function-checks.js';
import { findFunctions } from './function-names.js';
import { checkServer } from './server-checks.js';
import { describeMissing, missingCalls } from '../redis/rights.js';
import { LUA } from '../gearmonkey/core/wire/lua.embedded.js';
import { shaOf, wholeScripts } from '../redis/script.js';

/** The result of an examination. */
export interface Diagnosis {
  readonly findings: readonly Finding[];
  readonly skipped: readonly Skipped[];
  /** The functions that were examined, as on the wire. */
  readonly functions: readonly string[];
}

/** Between two looks at what may be only a moment. */
const SECOND_LOOK_MS = 500;

/** What is examined, and how strictly. */
export interface DiagnoseOptions {
  readonly keysOf: KeysOf;
  /** Only these functions. @default all that a bounded scan finds */
  readonly functions?: readonly string[];
  /** Whose rights the connection's user should have. @default 'operator' */
  readonly role?: Role;
  /** Milliseconds from which a script of this package counts as slow. @default 100 */
  readonly slowScript?: number;
}

/** Examines a server and its functions. Reads a bounded number of keys, and changes nothing. @throws ConnectionError */
export async function diagnose(connection: RedisConnection, options: DiagnoseOptions): Promise<Diagnosis> {
  const { keysOf, functions = [], role = 'operator', slowScript = 100 } = options;
  const examination = new Examination(await connection.ready());
  const server = await checkServer(examination);
  const slow = await checkSlowScripts(examination, slowScript);
  const named = functions.map((fn) => ({ fn, keys: keysOf(fn) }));
  const examined = named.length > 0 ? named : await findFunctions(examination);
  const rights = await checkRights(examination, examined, role);
  const findings = [...server, ...slow, ...rights];
  for (const each of examined) findings.push(...(await checkFunction(examination, each)));
  return { findings, skipped: examination.skipped, functions: examined.map(({ fn }) => fn) };
}

async function checkFunction(examination: Examination, examined: ExaminedFunction): Promise<Finding[]> {
  const first = await suspectFunction(examination, examined);
  if (first.length === 0) return [];
  await pause(SECOND_LOOK_MS);
  return confirmed(first, await suspectFunction(examination, examined));
}

/** One call checks so many: it keeps the server from its work. */
const MOST_FUNCTIONS = 50;

/** What the connection's user may not do of what its role needs. */
async function checkRights(
  examination: Examination,
  functions: readonly ExaminedFunction[],
  role: Role,
): Promise<Finding[]> {
  const some = functions.slice(0, MOST_FUNCTIONS);
  if (some.length === 0) return [];
  const calls = some.flatMap(({ keys }) => [...callsOf(role, keys), ...featureRights(role, keys)]);
  const missing = await examination.look('rights', () => missingCalls(examination.redis, calls));
  if (!missing || missing.length === 0) return [];
  return [
    {
      code: 'RIGHTS',
      severity: 'warning',
      title: `${describeMissing(missing, `the role "${role}"`)}.`,
      remedy: `docs/operate/security.md has the rights of each role. For another role: --as client, worker or operator.`,
    },
  ];
}

const MOST_ENTRIES = 128;

const RECENT_SECONDS = 3_600;

/** All scripts of the core and of features, by what the server calls them. */
function scriptNames(): Map<string, string> {
  return new Map([...wholeScripts(LUA)].map(([name, text]) => [shaOf(text), name]));
}

/** Scripts of this package in the server's slow log, of the last hour and slower than `least` milliseconds. */
async function checkSlowScripts(examination: Examination, least: number): Promise<Finding[]> {
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
  if (!Array.isArray(reply) || reply.length === 0) return [];
  const names = scriptNames();
  return reply.flatMap((entry: unknown): Entry[] => {
    if (!Array.isArray(entry)) return [];
    const [, at, micros, args] = entry as unknown[];
    const sha = Array.isArray(args) ? String(args[1]) : '';
    const name = names.get(sha);
    return name === undefined ? [] : [{ name, at: Number(at), ms: Number(micros) / 1000 }];
  });
}
