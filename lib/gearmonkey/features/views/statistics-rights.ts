import { explainRefusal, type Call } from '../../../redis/rights.js';
import type { FunctionKeys } from '../../core/wire/protocol.js';
import { explainToOperator, type Explain, type Role } from '../../core/wire/rights.js';

const X = 'x';

/** Workers count what happens to jobs, and operators read that. */
export function statisticsRights(role: Role, k: FunctionKeys): Call[] {
  const key = k.statistics + X;
  if (role === 'client') return [];
  return role === 'worker'
    ? [
        ['HINCRBY', key, X, '1'],
        ['EXPIRE', key, '1'],
      ]
    : [
        ['HGETALL', key],
        ['HMGET', key, X],
      ];
}

/** As `explainToOperator`, for one who reads statistics. */
export const explainToReader: Explain = async (commands, refusal, fn, keysOf) => {
  const why = await explainToOperator(commands, refusal, fn, keysOf);
  const calls = statisticsRights('operator', keysOf(fn));
  return why === refusal ? explainRefusal(commands, refusal, calls, `an operator of "${fn}"`) : why;
};
