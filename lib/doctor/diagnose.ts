import { setTimeout as pause } from 'node:timers/promises';
import type { KeysOf } from '../gearmonkey/wire/protocol.js';
import type { Role } from '../gearmonkey/wire/rights.js';
import type { RedisConnection } from '../redis/redis-connection.js';
import { checkRights } from './check-rights.js';
import { Examination } from './examination.js';
import type { Diagnosis, Finding } from './finding.js';
import { suspectFunction } from './function-checks.js';
import { findFunctions, type ExaminedFunction } from './function-names.js';
import { checkServer } from './server-checks.js';
import { checkSlowScripts } from './slow-scripts.js';
import { confirmed } from './suspicion.js';

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
