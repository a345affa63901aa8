import { TreeCopy, type RunResult } from './tree-copy.js';
import type { Mutant } from './mutant.js';

export interface Verdict {
  readonly mutant: Mutant;
  readonly is: 'killed' | 'hung' | 'crashed' | 'survived' | 'broken';
  /** The test that noticed it, or what is wrong with the mutant. */
  readonly by: string;
}

/** Code that does not load says nothing about the tests. An answer that is no JSON does. */
const NOT_LOADED =
  /Error compiling script|SyntaxError(?!: .*JSON)|x Expected|Cannot find module|is not exported/;

/**
 * Makes each change in a copy of the tree, one at a time in each of `copies`, and runs its suites.
 * @throws if a suite fails without any change
 */
export async function runMutants(
  mutants: readonly Mutant[],
  { copies = 2, onVerdict = () => undefined as void }: RunOptions = {},
): Promise<Verdict[]> {
  const trees = await Promise.all(Array.from({ length: copies }, () => TreeCopy.make()));
  try {
    await checkUnchanged(trees, mutants);
    const left = [...mutants];
    const verdicts: Verdict[] = [];
    await Promise.all(
      trees.map(async (tree) => {
        for (let mutant = left.shift(); mutant; mutant = left.shift()) {
          let verdict = judge(mutant, await tree.runWith(mutant));
          // A busy machine may hold a suite up until what the mutant breaks is over: a second time that is no chance.
          if (verdict.is === 'survived') verdict = judge(mutant, await tree.runWith(mutant));
          verdicts.push(verdict);
          onVerdict(verdict);
        }
      }),
    );
    return verdicts;
  } finally {
    for (const tree of trees) tree.remove();
  }
}

export interface RunOptions {
  readonly copies?: number;
  readonly onVerdict?: (verdict: Verdict) => void;
}

async function checkUnchanged(trees: readonly TreeCopy[], mutants: readonly Mutant[]): Promise<void> {
  const suites = [...new Set(mutants.flatMap((mutant) => mutant.suites))];
  const share = Math.ceil(suites.length / trees.length);
  await Promise.all(
    trees.map(async (tree, index) => {
      const own = suites.slice(index * share, (index + 1) * share);
      if (own.length === 0) return;
      const results = await tree.runUnchanged(own);
      if (typeof results === 'string') throw new Error(`The suites ${results} without any change.`);
      const failed = results.find((result) => result.failed);
      if (failed) throw new Error(`${failed.suite} fails without any change: ${failed.failures[0]?.message}`);
    }),
  );
}

export function judge(mutant: Mutant, results: RunResult): Verdict {
  if (results === 'hung') return { mutant, is: results, by: 'the run did not end in time' };
  if (results === 'crashed') return { mutant, is: results, by: 'the run ended without a result' };
  const failed = results.find((result) => result.failed);
  const [first] = failed?.failures ?? [];
  if (!failed || !first) return { mutant, is: 'survived', by: '' };
  if (!failed.ran || NOT_LOADED.test(first.message))
    return { mutant, is: 'broken', by: firstLine(first.message) };
  return { mutant, is: 'killed', by: `${failed.suite}: ${first.test}` };
}

function firstLine(text: string): string {
  return text.split('\n').find((line) => line.trim() !== '') ?? '';
}
