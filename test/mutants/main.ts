/**
 * Changes the code in one place at a time, and checks that a test of `npm test` fails.
 *
 *   npm run check -- mutants                   all of test/mutants/list
 *   npm run check -- mutants claim jq          those whose part or file contains one of the words
 */
import { availableParallelism } from 'node:os';
import { readMutants } from './mutant.js';
import { runMutants } from './run-mutants.js';

// Ends what it has started, too.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
const words = process.argv.slice(2);
const parts = [...readMutants()].flatMap(([part, mutants]) => mutants.map((mutant) => ({ part, mutant })));
const asked = parts
  .filter(
    ({ part, mutant }) => words.length === 0 || words.some((word) => `${part} ${mutant.file}`.includes(word)),
  )
  .map(({ mutant }) => mutant);
const equal = asked.filter((mutant) => mutant.equal !== undefined);
const started = performance.now();
const verdicts = await runMutants(
  asked.filter((mutant) => mutant.equal === undefined),
  {
    copies: availableParallelism(),
    onVerdict: ({ is, by, mutant }) =>
      console.log(`${is.padEnd(8)}  ${mutant.file}: ${mutant.breaks}\n          ${by}`),
  },
);
const alive = verdicts.filter(({ is }) => is === 'survived' || is === 'broken');
const minutes = ((performance.now() - started) / 60_000).toFixed(1);
for (const { is, mutant, by } of alive) {
  console.log(`\n${is}: ${mutant.file}: ${mutant.breaks}\n- ${mutant.find}\n+ ${mutant.replace}\n${by}`);
}
console.log(
  `\n${verdicts.length} mutants in ${minutes} minutes: ${verdicts.length - alive.length} killed, ${alive.length} not; ${equal.length} do the same as the code`,
);
process.exitCode = verdicts.length > 0 && alive.length === 0 ? 0 : 1;
