import { explainRefusal, type Call } from '../../../redis/rights.js';
import type { FunctionKeys } from '../../core/wire/protocol.js';
import type { ExplainMore, Role } from '../../core/wire/rights.js';

const X = 'x';

/** Workers create jobs of schedules, which may be unique. */
export function uniqueRights(role: Role, { unique }: FunctionKeys): Call[] {
  const both: Call[] = [
    ['HMGET', unique, X],
    ['HSET', unique, X, X],
  ];
  return role === 'worker' ? both : [...both, ['HDEL', unique, X], ['HRANDFIELD', unique]];
}

/** If Redis refused a call for a missing right to unique keys, returns an error that names it; otherwise `refusal`. */
export const explainOfUnique: ExplainMore = (commands, refusal, fn, k) =>
  explainRefusal(commands, refusal, uniqueRights('client', k), `a client of "${fn}"`);
