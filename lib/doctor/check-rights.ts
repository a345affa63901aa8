import { callsOf, type Role } from '../gearmonkey/wire/rights.js';
import { describeMissing, missingCalls } from '../redis/rights.js';
import type { Examination } from './examination.js';
import type { Finding } from './finding.js';
import type { ExaminedFunction } from './function-names.js';

/** One call checks so many: it keeps the server from its work. */
const MOST_FUNCTIONS = 50;

/** What the connection's user may not do of what its role needs. */
export async function checkRights(
  examination: Examination,
  functions: readonly ExaminedFunction[],
  role: Role,
): Promise<Finding[]> {
  const some = functions.slice(0, MOST_FUNCTIONS);
  if (some.length === 0) return [];
  const calls = some.flatMap(({ keys }) => callsOf(role, keys));
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
