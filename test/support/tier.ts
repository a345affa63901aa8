/** Whether this run is `npm test`, and not `npm run test:full` or plain Jest. */
export const IS_FAST_TIER = process.env['TEST_TIER'] === 'fast';

/**
 * Defines tests that only `npm run test:full` runs, in a suite whose others `npm test` runs too: those that start many
 * programs, or wait for long. A suite that has only such tests is a file `*.full.ts`.
 */
export function inFullTier(define: () => void): void {
  if (!IS_FAST_TIER) define();
}

/** For `describe.each`: `npm test` has the first rows, `npm run test:full` the others too, which are the same facts on further servers. */
export function furtherInFullTier<T>(first: readonly T[], further: readonly T[]): readonly T[] {
  return IS_FAST_TIER ? first : [...first, ...further];
}
