import { expect, it } from '@jest/globals';
import { readMutants } from './mutant.js';
import { runMutants } from './run-mutants.js';

// The short form of `npm run check -- mutants`.
it('the first mutant of each part is killed', async () => {
  const first = [...readMutants().values()].flatMap((mutants) => mutants.slice(0, 1));
  const verdicts = await runMutants(first, { copies: 1 });
  expect(verdicts.filter(({ is }) => is !== 'killed' && is !== 'hung')).toEqual([]);
  expect(verdicts).toHaveLength(first.length);
}, 600_000);
